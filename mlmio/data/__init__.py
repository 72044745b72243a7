"""Labelled points: data sets, their scaling, and where they come from."""

from mlmio.data.catalogue import dataset_names, load_dataset
from mlmio.data.dataset import Dataset, require_dataset
from mlmio.data.files import read_table
from mlmio.data.scaling import Scaling

__all__ = ["Dataset", "Scaling", "dataset_names", "load_dataset", "read_table", "require_dataset"]
