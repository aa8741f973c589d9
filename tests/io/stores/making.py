"""The same numbers in every format that is read by blocks of columns."""

import numpy as np
import polars as pl
import pytest
import scipy.sparse

from featly.problem.scan import scan


def write_npy(path, X, order):
    np.save(path, np.asarray(X, order=order))


def write_feather(path, X, compression):
    pl.from_numpy(X).write_ipc(path, compression=compression, record_batch_size=7)


def write_h5(path, X, **options):
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("X", data=X, **options)
        file["y"] = np.arange(len(X)) % 2


def write_h5ad(path, X, compression=None, **layers):
    import anndata
    import pandas as pd

    sick = pd.Categorical(np.where(np.arange(X.shape[0]) % 2, "ill", "well"))
    rows = [f"cell{row}" for row in range(X.shape[0])]
    genes = pd.DataFrame(index=[f"gene{column}" for column in range(X.shape[1])])
    annotated_data = anndata.AnnData(X, obs=pd.DataFrame({"state": sick}, index=rows), var=genes)
    for name, layer in layers.items():
        annotated_data.layers[name] = layer
    annotated_data.write_h5ad(path, compression=compression)


def write_zarr(path, X, chunks, **options):
    import zarr

    array = zarr.create_array(str(path), shape=X.shape, chunks=chunks, dtype=X.dtype, **options)
    array[:] = X


def write_zip(path, X, chunks):
    import zarr

    store = zarr.storage.ZipStore(str(path), mode="w")
    zarr.create_array(store, shape=X.shape, chunks=chunks, dtype=X.dtype)[:] = X
    store.close()


def write_bed(path, genotypes):
    """Write genotypes 0, 1, 2, and 3 for a missing one; the format written out longhand."""
    n_rows, n_variants = genotypes.shape
    bits = {2: 0b00, 3: 0b01, 1: 0b10, 0: 0b11}
    content = bytearray(b"l\x1b\x01")
    for column in genotypes.T.tolist():
        for start in range(0, n_rows, 4):
            byte = 0
            for position, genotype in enumerate(column[start : start + 4]):
                byte |= bits[genotype] << 2 * position
            content.append(byte)
    path.write_bytes(content)
    people = [f"f{row} i{row} 0 0 {row % 2 + 1} {row % 2 + 1}\n" for row in range(n_rows)]
    path.with_suffix(".fam").write_text("".join(people))
    variants = [f"1\trs{column}\t0\t{column + 1}\tA\tG\n" for column in range(n_variants)]
    path.with_suffix(".bim").write_text("".join(variants))


def floats(n_rows=23, n_features=61, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_features)).astype(np.float32)


def counts(n_rows=23, n_features=61, seed=0):
    return np.random.default_rng(seed).integers(0, 4, (n_rows, n_features)).astype(np.uint8)


def sparse(n_rows=23, n_features=61):
    X = floats(n_rows, n_features)
    X[np.random.default_rng(1).random(X.shape) < 0.7] = 0
    return X


# what writes a table, and the numbers that are to be read from it
MAKERS = {
    "npy": (".npy", floats, lambda path, X: write_npy(path, X, "F")),
    "npy-rows": (".npy", floats, lambda path, X: write_npy(path, X, "C")),
    "parquet": (".parquet", floats, lambda path, X: pl.from_numpy(X).write_parquet(path)),
    "arrow": (".arrow", floats, lambda path, X: pl.from_numpy(X).write_ipc(path)),
    "arrow-lz4": (".feather", floats, lambda path, X: write_feather(path, X, "lz4")),
    "h5": (".h5", floats, write_h5),
    "h5-chunks": (".h5", floats, lambda path, X: write_h5(path, X, chunks=(8, 16))),
    "h5-gzip": (".hdf5", floats, lambda path, X: write_h5(path, X, chunks=(8, 16), compression=4)),
    "h5ad": (".h5ad", floats, write_h5ad),
    "h5ad-rows": (".h5ad", sparse, lambda path, X: write_h5ad(path, scipy.sparse.csr_matrix(X))),
    "h5ad-columns": (".h5ad", sparse, lambda path, X: write_h5ad(path, scipy.sparse.csc_matrix(X))),
    "zarr-2": (".zarr", floats, lambda path, X: write_zarr(path, X, (8, 16), zarr_format=2)),
    "zarr-3": (".zarr", floats, lambda path, X: write_zarr(path, X, (8, 16), zarr_format=3)),
    "zarr-shards": (".zarr", floats, lambda path, X: write_zarr(path, X, (8, 8), shards=(24, 16))),
    "zarr-zip": (".zip", floats, lambda path, X: write_zip(path, X, (8, 16))),
    "bed": (".bed", counts, write_bed),
}
NEEDS = {"h5": ("h5py",), "h5ad": ("h5py", "anndata"), "zarr": ("zarr",)}
PLAIN_FILES = [name for name in MAKERS if name not in ("zarr-2", "zarr-3", "zarr-shards")]


def write_example(name, folder, **size):
    """Write a table of a format, and return its path and its numbers."""
    for library in NEEDS.get(name.partition("-")[0], ()):
        pytest.importorskip(library)
    suffix, numbers, write = MAKERS[name]
    X = numbers(**size)
    path = folder / f"table{suffix}"
    write(path, X)
    return path, X


def scan_example(name, folder, **size):
    path, X = write_example(name, folder, **size)
    return scan(path), X
