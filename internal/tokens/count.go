package tokens

import "hash/maphash"

// maxPiece bounds how many bytes are merged at once, so that counting needs little memory. No ordinary text has a word
// of 64 KiB, but a base64 blob or a long run of blanks may be longer. Cutting such a piece changes the count by a few
// tokens at most.
const maxPiece = 64 << 10

// Count returns the number of tokens of s. If the text contains a special token, for example "<EOT>", it counts as
// plain text. Count does not normalise the text. It also counts bytes that are not UTF-8.
//
// Count is safe for concurrent use. The first call of a process loads the vocabulary. Later calls do not allocate.
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
