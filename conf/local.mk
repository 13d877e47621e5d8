# EXTRA_DIST of this folder
