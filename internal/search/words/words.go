package words

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"iter"
	"math"
	"sync"
)

// The variable `learned` holds the table that gen/learn.py makes. It contains, in this order: the number of terms and
// the number of dimensions, the terms, the scales of their vectors, and the vectors. The last part has, for each term,
// the number of its neighbours and then the neighbours.
//
//go:embed words.bin
var learned []byte

const Width = 64

// A Vector is the sum of the vectors of a text's terms. If the vectors of two texts have the same direction, the texts
// are about the same subject.
type Vector [Width]float32

type table struct {
	names      []string
	index      map[string]int
	scales     []byte
	vectors    []byte
	neighbours [][]byte
}

var load = sync.OnceValue(func() *table {
	size, rest := int(binary.LittleEndian.Uint16(learned)), learned[4:]
	t := &table{names: make([]string, size), index: make(map[string]int, size), neighbours: make([][]byte, size)}
	for i := range size {
		end := bytes.IndexByte(rest, '\n')
		t.names[i] = string(rest[:end])
		t.index[t.names[i]] = i
		rest = rest[end+1:]
	}
	t.scales, rest = rest[:4*size], rest[4*size:]
	t.vectors, rest = rest[:Width*size], rest[Width*size:]
	for i := range size {
		end := 1 + 3*int(rest[0])
		t.neighbours[i], rest = rest[1:end], rest[end:]
	}
	return t
})

// Neighbours returns the terms that may replace a term, each with a number from 0 to 1 that says how good a replacement
// it is.
func Neighbours(term string) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		t := load()
		i, ok := t.index[term]
		if !ok {
			return
		}
		for n := t.neighbours[i]; len(n) > 0; n = n[3:] {
			if !yield(t.names[binary.LittleEndian.Uint16(n)], float64(n[2])/255) {
				return
			}
		}
	}
}

// Add adds the vector of a term, if the table has the term. The more a term says about the subject of a text, the
// longer its vector is.
func (v *Vector) Add(term []byte) {
	t := load()
	i, ok := t.index[string(term)]
	if !ok {
		return
	}
	scale := math.Float32frombits(binary.LittleEndian.Uint32(t.scales[4*i:]))
	for k, x := range t.vectors[Width*i:][:Width] {
		v[k] += scale * float32(int8(x))
	}
}

func (v *Vector) AddShare(o *Vector, share float32) {
	for k, x := range o {
		v[k] += share * x
	}
}

// Unit returns the vector of length 1 with the same direction. The zero vector stays as it is.
func (v *Vector) Unit() (unit Vector) {
	if n := v.length(); n > 0 {
		unit.AddShare(v, float32(1/n))
	}
	return unit
}

func (v *Vector) length() float64 {
	var sum float32
	for _, x := range v {
		sum += x * x
	}
	return math.Sqrt(float64(sum))
}

// Cosine returns how near the directions of two vectors are, from -1 to 1.
func (v *Vector) Cosine(o *Vector) float64 {
	var both float32
	for k, x := range v {
		both += x * o[k]
	}
	if lengths := v.length() * o.length(); lengths > 0 {
		return float64(both) / lengths
	}
	return 0
}
