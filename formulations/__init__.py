"""The catalogue of formulations: one file a block, grouped by slot.

A plug-in of mlmio like any other package: it registers through the entry-point group
``mlmio.blocks`` and uses nothing that another package could not.
"""
