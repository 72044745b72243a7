"""Pictures of data, metrics and what they say, each drawn into an axes that is returned.

The colours are told apart in every common colour blindness, and every class has a marker of its own
besides, so that a picture can be read in black and white.
"""

from mlmio.pictures.curves import plot_risk_coverage, plot_survival
from mlmio.pictures.metrics import plot_ellipses, plot_regions, plot_significance
from mlmio.pictures.points import (
    plot_coordinates,
    plot_image_rows,
    plot_parts,
    plot_points,
    plot_recommendations,
    plot_signatures,
)
from mlmio.pictures.relaxations import plot_strength

__all__ = [
    "plot_coordinates",
    "plot_ellipses",
    "plot_image_rows",
    "plot_parts",
    "plot_points",
    "plot_recommendations",
    "plot_regions",
    "plot_risk_coverage",
    "plot_signatures",
    "plot_significance",
    "plot_strength",
    "plot_survival",
]
