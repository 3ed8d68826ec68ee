"""The study of performance skeletons: short programs made from recordings, run where the programs would run.

Six programs in the manner of NPB's BT, CG, IS, LU, MG and SP are recorded once on a dedicated emulated cluster.
Skeletons of 10 to 0.5 s are made from the recordings. They predict the programs' times where nodes and links are
shared, as measured skeleton time × application / skeleton, the last two on the dedicated cluster. The study follows
Sodhi, Subhlok and Xu, *Performance Prediction with Skeletons*, whose figures are shown for comparison. Nothing is
fitted to the measurements.
"""
