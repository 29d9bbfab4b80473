"""Methods beside RX by Spectral Python, ROC-AUC by scikit-learn. usage: methods.py SIDE CHANNELS SEED METHOD"""

import sys

from common import digest, geometric_mean, image, measure, need, report

ROWS = 20  # of local RX
PARTS = 5  # components that are compared


def add_waves(np, x):
    """As peers_methods.c does it for MNF."""
    rows, columns, channels = np.ogrid[:x.shape[0], :x.shape[1], :x.shape[2]]
    x /= 2
    for k in range(PARTS):
        wave = np.abs((2 * (k + 1) * rows + columns) % 256 - 128) / 128
        x += np.where(channels >> k & 1, wave, -wave) / (8 << k)


def main(side, channels, seed, method):
    np, peer = need("numpy", "sklearn.metrics" if method == "auc" else "spectral")
    values, labels = image(np, side * side, channels, seed)
    # What Spectral Python turns an image into first.
    x = values.reshape(side, side, channels).astype(np.float64)
    if method == "mnf":
        add_waves(np, x)
    target = (values[0] * (8 + np.arange(channels) % 7) / 8).astype(np.float64)
    scores = values.ravel()[:side * side]

    def mnf():
        found = peer.mnf(peer.calc_stats(x), peer.noise_from_diffs(x))
        return found, found.reduce(x, num=channels)

    work = {"filter": lambda: peer.matched_filter(x, target), "ace": lambda: peer.ace(x, target), "mnf": mnf,
            "local": lambda: peer.rx(x[:ROWS], window=(5, 15)), "auc": lambda: peer.roc_auc_score(labels, scores)}
    found = measure("method", work[method], side * side, "pixels")
    if method == "auc":
        report(value="auc", number=float(found))
    elif method == "mnf":
        found, components = found
        report(value="noise", number=digest(np, found.noise.cov))
        report(value="first eigenvalue", number=float(found.napc.eigenvalues[0]))
        report(value="last eigenvalue", number=float(found.napc.eigenvalues[-1]))
        report(value="components", number=geometric_mean(
            np, [digest(np, components[..., k].astype(np.float64)**2) for k in range(PARTS)]))
    else:
        report(value="scores", number=digest(np, found))


main(*map(int, sys.argv[1:4]), sys.argv[4])
