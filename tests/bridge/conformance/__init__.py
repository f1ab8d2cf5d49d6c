"""What every host of the bridge answers alike, whatever it is made of."""
