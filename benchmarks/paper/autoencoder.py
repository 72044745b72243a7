"""A convolutional auto-encoder of small grey images, in PyTorch.

Seeded, in one thread and with deterministic algorithms, so that the same images give the same
features.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mlmio import MlmioError

if TYPE_CHECKING:
    from torch import Tensor, nn

Images = NDArray[np.float64]

# Images that pass through at once where nothing is learned.
AT_ONCE = 1000


class AutoEncoder:
    """Features of images, and images from features.

    Two convolutions of stride 2 with ReLU and a linear layer to the features, and the same
    backwards, trained by Adam on the squared error. The features themselves are linear: with ReLU
    some would be zero in all images.

    Parameters
    ----------
    side : int
        Height and width of the images, a multiple of 4.
    features : int
        How many.
    channels : pair of int
        Of the two convolutions.
    seed : int

    Raises
    ------
    MlmioError
        If PyTorch is not installed.
    """

    def __init__(self, side: int, features: int, channels: tuple[int, int], seed: int = 0) -> None:
        require_torch()
        self.side, self.seed = side, seed
        with _reproducible(seed):
            self.encoder, self.decoder = _layers(side // 4, features, channels)

    def fit(
        self, images: Images, epochs: int, rate: float, batch: int, say: Callable[[str], None]
    ) -> AutoEncoder:
        """Train on (N, side, side) images with values from 0 to 1, and tell how far it is."""
        import torch

        with _reproducible(self.seed):
            pixels = self._tensor(images)
            parameters = [*self.encoder.parameters(), *self.decoder.parameters()]
            optimizer = torch.optim.Adam(parameters, rate)
            steps = epochs * -(-len(pixels) // batch)
            # Large steps first, and small ones in the end.
            slower = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
            for epoch in range(1, epochs + 1):
                total = 0.0
                for rows in torch.randperm(len(pixels)).split(batch):
                    error = self._error(pixels[rows])
                    optimizer.zero_grad()
                    error.backward()
                    optimizer.step()
                    slower.step()
                    total += error.item() * len(rows)
                if epoch % max(1, epochs // 5) == 0:
                    error_now = total / len(pixels)
                    say(f"auto-encoder, epoch {epoch} of {epochs}: squared error {error_now:.5f}")
        return self

    def encode(self, images: Images) -> NDArray[np.float64]:
        """Return the (N, features) array of features."""
        return np.concatenate([self.encoder(part).numpy() for part in self._parts(images)])

    def error(self, images: Images) -> float:
        """Return the mean squared error of a pixel."""
        errors = [float(self._error(part)) * len(part) for part in self._parts(images)]
        return sum(errors) / len(images)

    def _parts(self, images: Images) -> Iterator[Tensor]:
        import torch

        with _reproducible(self.seed), torch.no_grad():
            yield from self._tensor(images).split(AT_ONCE)

    def _tensor(self, images: Images) -> Tensor:
        import torch

        return torch.tensor(images, dtype=torch.float32).reshape(-1, 1, self.side, self.side)

    def _error(self, pixels: Tensor) -> Tensor:
        return (self.decoder(self.encoder(pixels)) - pixels).square().mean()


def require_torch() -> None:
    """Raise MlmioError where PyTorch is not installed."""
    if importlib.util.find_spec("torch") is None:
        raise MlmioError(
            "the auto-encoder needs PyTorch: install it with pip install 'mlmio[images]'"
        )


def _layers(
    small: int, features: int, channels: tuple[int, int]
) -> tuple[nn.Sequential, nn.Sequential]:
    """Return encoder and decoder; `small` is the side after both convolutions."""
    from torch import nn

    first, second = channels
    inside = second * small * small
    encoder = nn.Sequential(
        nn.Conv2d(1, first, 3, stride=2, padding=1), nn.ReLU(),
        nn.Conv2d(first, second, 3, stride=2, padding=1), nn.ReLU(),
        nn.Flatten(), nn.Linear(inside, features),
    )  # fmt: skip
    decoder = nn.Sequential(
        nn.Linear(features, inside), nn.ReLU(), nn.Unflatten(1, (second, small, small)),
        nn.ConvTranspose2d(second, first, 4, stride=2, padding=1), nn.ReLU(),
        nn.ConvTranspose2d(first, 1, 4, stride=2, padding=1), nn.Sigmoid(),
    )  # fmt: skip
    return encoder, decoder


@contextmanager
def _reproducible(seed: int) -> Iterator[None]:
    """Compute the same every time, and leave PyTorch as it was."""
    import torch

    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(strict)
