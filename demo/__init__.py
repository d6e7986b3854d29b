"""The main job on real input: photographs become thumbnails and a contact sheet, one process per task. Run by `make demo`."""
