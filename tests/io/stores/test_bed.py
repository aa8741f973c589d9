"""PLINK genotypes against the format written out longhand, and against bed-reader."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import featly
from featly.basics.errors import DataError
from featly.core.counts.genotypes import unpack_genotypes
from featly.problem.scan import scan
from tests.io.stores.making import counts, write_bed
from tests.reference.genotypes import genotypes_of


@given(n_rows=st.integers(1, 90), n_variants=st.integers(1, 6), seed=st.integers(0, 99))
def test_equals_reference(n_rows, n_variants, seed):
    packed = np.random.default_rng(seed).integers(0, 256, (n_variants, -(-n_rows // 4)), np.uint8)
    out = np.empty((n_variants, n_rows), np.uint8)
    unpack_genotypes(packed, out)
    assert out.tolist() == [genotypes_of(row, n_rows) for row in packed.tolist()]


@pytest.mark.parametrize("n_rows", [1, 2, 3, 4, 5, 64, 65, 101])
def test_equals_bed_reader(n_rows, tmp_path):
    bed_reader = pytest.importorskip("bed_reader")
    G = counts(n_rows, 29)
    path = tmp_path / "g.bed"
    bed_reader.to_bed(path, np.where(G == 3, -127, G).astype(np.int8))
    table = scan(path)
    assert np.array_equal(table.read(0, 29), G)
    ours = tmp_path / "ours.bed"
    write_bed(ours, G)
    assert ours.read_bytes() == path.read_bytes()
    with bed_reader.open_bed(path) as theirs:
        read = theirs.read(dtype="int8")
        assert np.array_equal(np.where(read == -127, 3, read), table.take(np.arange(29)))
        assert list(table.names) == theirs.sid.tolist()
        assert table.column("iid").tolist() == theirs.iid.tolist()


def test_raw_bytes(tmp_path):
    path = tmp_path / "g.bed"
    write_bed(path, counts(11, 8))
    table = scan(path)
    content = np.frombuffer(path.read_bytes()[3:], np.uint8).reshape(8, 3)
    assert np.array_equal(table.read_packed(0, 8), content)
    assert np.array_equal(table.read_packed(2, 5), content[2:5])
    assert table.nbytes == 24
    assert table.read_packed(3, 3).shape == (0, 3)


def test_names_are_those_of_the_bim_file(tmp_path):
    path = tmp_path / "g.bed"
    write_bed(path, counts(4, 700))
    table = scan(path)
    assert table.names[650] == "rs650"
    assert table.names[-1] == "rs699"
    assert table.names.position("rs300") == 300
    assert list(table.names) == [f"rs{k}" for k in range(700)]


def fam(folder, phenotypes, sex="1"):
    write_bed(folder / "g.bed", counts(len(phenotypes), 3))
    lines = [f"f{k}\ti{k}\t0\t0\t{sex}\t{value}\n" for k, value in enumerate(phenotypes)]
    (folder / "g.fam").write_text("".join(lines))
    return folder / "g.bed"


@pytest.mark.parametrize(
    ("words", "numbers", "kind"),
    [
        (["1", "2", "2"], [1, 2, 2], "i"),
        (["1", "0", "2"], [1, np.nan, 2], "f"),
        (["1", "-9", "NA"], [1, np.nan, np.nan], "f"),
        (["1.5", "0", "-9"], [1.5, 0, np.nan], "f"),
        (["5", "0", "2"], [5, 0, 2], "f"),
    ],
)
def test_phenotypes(words, numbers, kind, tmp_path):
    table = scan(fam(tmp_path, words), target="phenotype")
    assert np.array_equal(table.y, numbers, equal_nan=True)
    assert table.y.dtype.kind == kind
    assert table.n_features == 3


def test_people(tmp_path):
    table = scan(fam(tmp_path, ["1", "2"], sex="2"))
    assert table.column("sex").tolist() == [2, 2]
    assert table.column("fid").tolist() == ["f0", "f1"]
    assert table.column("father").tolist() == ["0", "0"]
    assert table.y is None
    with pytest.raises(DataError, match=r"target 'phenotyp' .* did you mean 'phenotype'\?"):
        scan(tmp_path / "g.bed", target="phenotyp")


def test_a_phenotype_that_is_text(tmp_path):
    table = scan(fam(tmp_path, ["1", "ill"]), target="phenotype")
    with pytest.raises(DataError, match=r"line 2 of '.*g.fam' has 'ill' as phenotype"):
        _ = table.y


# ---- what is refused ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"chr1\t100\t200\tgene\n", "is no PLINK .bed file: it is text; a .bed file of genomic"),
        (b"\x93NUMPY\x01\x00", "is no PLINK .bed file: it begins like a NumPy array"),
        (b"\x00\x01\x02" * 9, "is no PLINK .bed file: write it with plink --make-bed"),
        (
            b"l\x1b\x00" + bytes(9),
            r"person by person.*plink --bfile g --make-bed --out g_by_variant",
        ),
        (b"l\x1b\x07" + bytes(9), "is damaged in its third byte"),
        (b"", "is empty"),
    ],
)
def test_other_files_are_refused(content, words, tmp_path):
    path = tmp_path / "g.bed"
    write_bed(path, counts(9, 3))
    path.write_bytes(content)
    with pytest.raises(DataError, match=words):
        scan(path)


def test_files_that_do_not_belong_together(tmp_path):
    path = tmp_path / "g.bed"
    write_bed(path, counts(9, 5))
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    with pytest.raises(
        DataError, match=r"has 17 bytes, where 5 variants \(.bim\) of 9 people .* cut"
    ):
        scan(path)
    path.write_bytes(content)
    bim = path.with_suffix(".bim")
    bim.write_text("".join(bim.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(DataError, match=r"take 15: .bim or .fam are cut"):
        scan(path)
    bim.unlink()
    with pytest.raises(DataError, match=r"has no .bim file beside it: put 'g.bim' into the same"):
        scan(path)
    path.with_suffix(".fam").unlink()
    with pytest.raises(DataError, match=r"has no .fam file beside it"):
        scan(path)


def test_a_bim_file_that_changes(tmp_path):
    path = tmp_path / "g.bed"
    write_bed(path, counts(9, 5))
    table = scan(path)
    path.with_suffix(".bim").write_text("1 rs1 0 1 A G\n")
    with pytest.raises(DataError, match=r"g.bim' was cut"):
        table.check()


def test_unnamed_variants(tmp_path):
    """Variants named by a dot are fine until a schema means one of them."""
    path, y = tmp_path / "a.bed", np.arange(12) % 2
    X = np.random.default_rng(0).integers(0, 3, (12, 6))
    write_bed(path, X)
    bim = path.with_suffix(".bim")
    bim.write_text(bim.read_text().replace("rs4", ".").replace("rs2", "."))
    table = scan(path)
    assert featly.FTest(schema={"keep": ["rs5", 4]}).fit(table, y).order_[:2].tolist() == [5, 4]
    message = r"keep names '\.', and 2 columns are called so \(positions 2, 4\): give positions"
    with pytest.raises(featly.SchemaError, match=message):
        featly.FTest(schema={"keep": ["."]}).fit(table, y)
