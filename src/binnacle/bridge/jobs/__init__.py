"""What a client and a host share: the folder of the bridge, and what the files in it mean.

`protocol` has the values, `job_files` reads and writes them, and `proofs` distinguishes ours from those that came with
a clone. `process_identity` says whether the process on the other side still runs, `folder_watcher` when
something in a folder has changed, and `circuit_breaker` when to stop trying.
"""
