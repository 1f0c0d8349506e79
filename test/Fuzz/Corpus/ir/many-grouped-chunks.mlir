// As many chunks as there may be, in segments of 2^20.
coll.grouped @halves of all_gather ranks = 6 chunks = 1048576 groups = [[0, 1], [2, 3]]
