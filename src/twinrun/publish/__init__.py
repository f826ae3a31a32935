"""Results on their way to trackers: the parent's side. What a tracker is, is in `twinrun.trackers`, which programs use too."""
