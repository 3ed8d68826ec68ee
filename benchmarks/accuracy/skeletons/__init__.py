"""The study of performance skeletons: short programs made from recordings, run where the programs would run.

Six programs in the manner of NPB's BT, CG, IS, LU, MG and SP are recorded once on a dedicated emulated cluster.
Skeletons of 10 to 0.5 s are made of the recordings, and predict what the programs take where nodes and links are
shared: measured skeleton times application / skeleton, both on the dedicated cluster. After Sodhi, Subhlok and Xu,
*Performance Prediction with Skeletons*, whose figures stand beside. Nothing is fitted to what is measured here.
"""
