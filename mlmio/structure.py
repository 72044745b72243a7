"""What a metric says of coordinates and of the shape of classes: significance and islands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from mlmio.data.validation import whole_number
from mlmio.metric import Metric
from mlmio.neighbors import NOBODY, has_psd_matrix, training_index

if TYPE_CHECKING:
    from mlmio.data import Dataset

Array = NDArray[np.float64]

# Mutual neighbours that hold a compact island of a few dozen points together.
MUTUAL = 10


@dataclass(frozen=True, eq=False)
class Significance:
    """How much each coordinate counts in B.

    Parameters
    ----------
    feature_names : tuple of str
        The coordinates.
    values : (D,) array
        W_j, for scaled features, in units of the distance.
    psd : bool
        Whether B is positive semidefinite; where not, |λ| stands for λ.
    """

    feature_names: tuple[str, ...]
    values: Array
    psd: bool

    def __str__(self) -> str:
        order = np.argsort(-self.values, kind="stable")
        lines = [f"{self.feature_names[j]}: {self.values[j]:.4g}" for j in order]
        if not self.psd:
            lines.append("B is not positive semidefinite: |λ| was taken for λ")
        return "\n".join(lines)


def significance(metric: Metric) -> Significance:
    """Weigh each coordinate by the eigenvectors of B.

    W_j = Σ_i λ_i |v_ij| for the eigenpairs (λ_i, v_i) of B (Kumaran et al. 2018,
    eq:coordinate-significance), with |λ_i| in place of λ_i. It says nothing of other terms than
    the quadratic one; where eigenvalues coincide their eigenvectors, and so W, are not unique.

    Parameters
    ----------
    metric : Metric

    Returns
    -------
    Significance

    Examples
    --------
    >>> import mlmio
    >>> print(significance(mlmio.Metric({2: [[4, 0], [0, -1]]}, D=2, feature_names=["u", "v"])))
    u: 4
    v: 1
    B is not positive semidefinite: |λ| was taken for λ
    """
    values, vectors = np.linalg.eigh(metric.B)
    weights = np.abs(vectors) @ np.abs(values)
    return Significance(metric.feature_names, weights, has_psd_matrix(metric))


def islands(metric: Metric, data: Dataset, n_neighbors: int = MUTUAL) -> NDArray[np.intp]:
    """Find the islands of each class: components of the graph of mutual neighbours.

    Two points of one class are joined where each is among the other's nearest neighbours, those
    of all classes counted, so that a class is cut where points of another come between
    (Kumaran et al. 2018, "multiple domains/islands").

    Parameters
    ----------
    metric : Metric
        In the scaling of the data.
    data : Dataset
    n_neighbors : int, default 10
        How many neighbours of a point count. With more of them islands run together, with fewer
        they fall apart.

    Returns
    -------
    (N,) array of int
        Number of each point's island, from 0 in every class, the largest first.

    Raises
    ------
    DataError
        If `n_neighbors` is no whole number above 0.

    Examples
    --------
    >>> import mlmio
    >>> data = mlmio.load_dataset("islands", n=180)
    >>> found = islands(mlmio.Metric({2: np.eye(2)}, D=2, scaling=data.scaling), data)
    >>> np.bincount(found[data.y == 0]).tolist()
    [20, 20, 20]
    """
    k = whole_number(n_neighbors, "n_neighbors")
    index, own = training_index(metric, data)
    _, rows = index.index.kneighbors(data.X, min(k, data.N - 1), own)
    graph = nx.Graph()
    graph.add_nodes_from(range(data.N))
    graph.add_edges_from(_mutual(rows, data.y).tolist())
    number = np.empty(data.N, dtype=np.intp)
    seen = np.zeros(data.n_classes, dtype=np.intp)
    # Equal sizes by their first point, so that the numbers do not depend on the graph.
    for members in sorted(map(sorted, nx.connected_components(graph)), key=lambda m: (-len(m), m)):
        c = data.y[members[0]]
        number[members] = seen[c]
        seen[c] += 1
    return number


def _mutual(rows: NDArray[np.intp], y: NDArray[np.intp]) -> NDArray[np.intp]:
    """Pairs i < j of one class of which each is among the other's neighbours."""
    N, k = rows.shape
    i, j = np.repeat(np.arange(N), k), rows.ravel()
    joined = (j != NOBODY) & (y[i] == y[j])
    i, j = i[joined], j[joined]
    keys, counts = np.unique(np.minimum(i, j) * N + np.maximum(i, j), return_counts=True)
    return np.column_stack(np.divmod(keys[counts == 2], N))
