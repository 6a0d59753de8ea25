package tokens

import "hash/maphash"

// maxPiece bounds the bytes that are merged at once. No text has a word of
// 64 KiB; for what does (a base64 blob, a wall of blanks) the count is off by
// at most a few tokens per boundary, and the memory of a count stays small.
const maxPiece = 64 << 10

// Count returns the number of tokens of s. Texts that name a special token
// ("<EOT>") are counted as the plain text they are, and nothing is normalised.
// Bytes that are not UTF-8 count as symbols.
//
// It is safe for concurrent use. The first call of a process loads the
// vocabulary; later calls do not allocate.
func Count(s string) int {
	v := load()
	n := 0
	for len(s) > 0 {
		end := pieceEnd(s[:min(len(s), maxPiece)])
		n += v.countPiece(s[:end])
		s = s[end:]
	}
	return n
}

// countPiece returns the number of tokens of one piece of the split.
func (v *vocabulary) countPiece(piece string) int {
	hash := maphash.String(v.seed, piece)
	if n, ok := v.cache.get(hash); ok {
		return n
	}
	n := 1
	if v.rankHashed(piece, hash) == noRank {
		n = v.merge(piece)
	}
	v.cache.put(hash, n)
	return n
}
