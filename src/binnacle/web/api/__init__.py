"""What the page can read and do, a module for each thing that it is about. `endpoints` finds every module here."""
