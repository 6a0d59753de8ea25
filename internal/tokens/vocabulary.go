package tokens

import (
	"compress/flate"
	_ "embed"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"strings"
	"sync"
)

// `packed` is the vocabulary in the form in which ./gen writes it, compressed with DEFLATE. It begins with the number
// of tokens and the length of each token. Then come the bytes of all tokens, in order of rank. Numbers are unsigned
// varints.
//
//go:embed vocabulary.bin
var packed string

const noRank = math.MaxUint32

// A vocabulary splits texts into tokens. It repeatedly merges two neighbouring pieces of a text into one token,
// beginning with the pair whose token has the lowest rank. After a vocabulary is loaded, only its cache changes.
type vocabulary struct {
	seed  maphash.Seed
	text  string   // all tokens without separators, in order of rank
	start []uint32 // start[r] is where token r begins in text, start[r+1] where it ends
	// `slots` is a hash table with linear probing. Half of its slots are used. A used slot holds the upper half of a
	// token's hash, and the token's rank + 1. A lookup compares texts only if these halves of the hashes are equal.
	slots []uint64
	// `pairs` holds the ranks of all two-byte texts, because every merge begins with them.
	pairs [1 << 16]uint32
	cache pieceCache
}

var load = sync.OnceValue(func() *vocabulary {
	v, err := unpack(flate.NewReader(strings.NewReader(packed)))
	if err != nil {
		panic(fmt.Sprintf("tokens: embedded vocabulary: %v", err)) // the build is broken; every test shows that
	}
	return v
})

func unpack(r io.Reader) (*vocabulary, error) {
	var b strings.Builder
	if _, err := io.Copy(&b, r); err != nil {
		return nil, err
	}
	data := b.String()
	number := func() uint64 {
		n, width := binary.Uvarint([]byte(data[:min(len(data), binary.MaxVarintLen64)]))
		data = data[max(width, 0):]
		return n
	}
	count := number()
	if count > uint64(len(data)) {
		return nil, fmt.Errorf("%d tokens in %d bytes", count, len(data))
	}
	v := &vocabulary{
		seed:  maphash.MakeSeed(),
		start: make([]uint32, count+1),
		slots: make([]uint64, 1<<17),
	}
	for r := range count {
		v.start[r+1] = v.start[r] + uint32(number())
	}
	if int(v.start[count]) != len(data) || count > uint64(len(v.slots)/2) {
		return nil, fmt.Errorf("%d tokens of %d bytes in %d bytes", count, v.start[count], len(data))
	}
	v.text = data
	v.index()
	return v, nil
}

func (v *vocabulary) index() {
	for i := range v.pairs {
		v.pairs[i] = noRank
	}
	mask := uint64(len(v.slots) - 1)
	for r := range uint32(len(v.start) - 1) {
		token := v.token(r)
		if len(token) == 2 {
			v.pairs[int(token[0])<<8|int(token[1])] = r
		}
		hash := maphash.String(v.seed, token)
		i := hash & mask
		for v.slots[i] != 0 {
			i = (i + 1) & mask
		}
		v.slots[i] = hash&^math.MaxUint32 | uint64(r+1)
	}
}

func (v *vocabulary) token(rank uint32) string {
	return v.text[v.start[rank]:v.start[rank+1]]
}

func (v *vocabulary) rank(s string) uint32 {
	if len(s) == 2 {
		return v.pairs[int(s[0])<<8|int(s[1])]
	}
	return v.rankHashed(s, maphash.String(v.seed, s))
}

func (v *vocabulary) rankHashed(s string, hash uint64) uint32 {
	mask := uint64(len(v.slots) - 1)
	for i := hash & mask; v.slots[i] != 0; i = (i + 1) & mask {
		slot := v.slots[i]
		if (slot^hash)>>32 != 0 {
			continue
		}
		if r := uint32(slot) - 1; v.token(r) == s {
			return r
		}
	}
	return noRank
}
