"""Collective calls, measured and simulated: is each one as long as the model says?"""
