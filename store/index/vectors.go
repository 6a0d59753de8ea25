package index

import (
	"cmp"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/ncruces/go-sqlite3"
)

// maxVectors limits how many texts have a vector, because more vectors make a search slower and the file larger. A test
// sets a smaller limit.
var maxVectors = 25_000

// ErrDimensions means that a vector and the vectors in the index have different numbers of dimensions.
var ErrDimensions = errors.New("another number of dimensions")

// A Waiting is a text that may get a vector.
type Waiting struct {
	row, session int64
	Text         string
}

//go:embed query/waiting.sql
var waitingSQL string

// Waiting returns the next texts that have no vector in the space yet, at most `limit`.
func (v *View) Waiting(space string, limit int) (all []Waiting, err error) {
	err = v.x.scan(waitingSQL, func(s *sqlite3.Stmt) {
		all = append(all, Waiting{s.ColumnInt64(0), s.ColumnInt64(1), s.ColumnText(2) + "\n" + s.ColumnText(3)})
	}, space, maxVectors, limit)
	return all, err
}

//go:embed query/vectors_count.sql
var vectorsCountSQL string

// Vectors returns how many texts have a vector in a space, and how many wait for a vector.
func (v *View) Vectors(space string) (stored, waiting int, err error) {
	err = v.x.scan(vectorsCountSQL, func(s *sqlite3.Stmt) { stored, waiting = s.ColumnInt(0), s.ColumnInt(1) }, space, maxVectors)
	return stored, waiting, err
}

// Space returns the space of the vectors, or "" if there are none.
func (v *View) Space() (name string, err error) {
	err = v.x.scan(`SELECT name FROM space`, func(s *sqlite3.Stmt) { name = s.ColumnText(0) })
	return name, err
}

// PutVectors stores the vectors of waiting texts. Each one is a unit vector, or nil if the text gets no vector. If the
// index contains vectors of another space, PutVectors deletes them first.
func (tx *Tx) PutVectors(space string, texts []Waiting, vectors [][]float32) error {
	known, dimensions := false, 0
	err := tx.x.scan(`SELECT name = ?, dimensions FROM space`, func(s *sqlite3.Stmt) { known, dimensions = s.ColumnBool(0), s.ColumnInt(1) }, space)
	if err == nil && !known {
		dimensions = 0
		err = errors.Join(tx.x.scan(`DELETE FROM vectors`, nil), tx.x.scan(`DELETE FROM space`, nil))
	}
	for i, vector := range vectors {
		switch {
		case err != nil || vector == nil:
			continue
		case dimensions != 0 && len(vector) != dimensions:
			return fmt.Errorf("%w: %d, and those in the index have %d", ErrDimensions, len(vector), dimensions)
		}
		dimensions = len(vector)
		// A chunk may have been deleted in the meantime.
		err = tx.x.scan(`INSERT OR REPLACE INTO vectors (chunk, session, vector) SELECT id, session, ?2 FROM chunks WHERE id = ?1`, nil, texts[i].row, bytesOf(vector))
	}
	if err != nil || dimensions == 0 {
		return err
	}
	return errors.Join(
		tx.x.scan(`INSERT INTO space (id, name, dimensions, through) VALUES (1, ?, ?, ?)
			ON CONFLICT DO UPDATE SET through = max(through, excluded.through)`, nil, space, dimensions, texts[len(texts)-1].row),
		tx.x.scan(`DELETE FROM vectors WHERE chunk IN (
			SELECT chunk FROM vectors ORDER BY chunk LIMIT max(0, (SELECT count(*) FROM vectors) - ?))`, nil, maxVectors))
}

func bytesOf(vector []float32) []byte {
	b := make([]byte, 0, 4*len(vector))
	for _, x := range vector {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// cosine returns -1 if the vectors cannot be compared.
func cosine(a []float32, b []byte) (sum float32) {
	if len(b) != 4*len(a) {
		return -1
	}
	var s0, s1, s2, s3 float32 // the sums are independent, so that the processor can add several at a time
	for ; len(a) >= 4; a, b = a[4:], b[16:] {
		b := b[:16:16]
		s0 += a[0] * math.Float32frombits(binary.LittleEndian.Uint32(b))
		s1 += a[1] * math.Float32frombits(binary.LittleEndian.Uint32(b[4:]))
		s2 += a[2] * math.Float32frombits(binary.LittleEndian.Uint32(b[8:]))
		s3 += a[3] * math.Float32frombits(binary.LittleEndian.Uint32(b[12:]))
	}
	sum = s0 + s1 + s2 + s3
	for i, x := range a {
		sum += x * math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return sum
}

var (
	//go:embed query/vectors.sql
	vectorsSQL string
	//go:embed query/chunk.sql
	chunkSQL string
)

// maxNearest bounds how many texts Nearest reads. It may read more texts than it returns, because it can check only
// after reading a text whether the text is in the scope.
const maxNearest = 2_000

// Nearest finds the texts whose vectors are nearest to a unit vector. It calls `yield` for each of them, at most
// `limit` times, with the nearest text first. It compares the vector with all vectors of the scope.
func (v *View) Nearest(vector []float32, in Scope, limit int, yield func(Hit)) error {
	if len(in.Kinds) > 0 && !slices.Contains(in.Kinds, Text) {
		return nil
	}
	type near struct {
		chunk  int64
		cosine float32
	}
	var all []near
	err := v.x.scan(vectorsSQL, func(s *sqlite3.Stmt) {
		if c := cosine(vector, s.ColumnRawBlob(1)); c > 0 {
			all = append(all, near{s.ColumnInt64(0), c})
		}
	}, in.Project, in.Harness, in.SessionID)
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b near) int { return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(b.chunk, a.chunk)) })
	for _, n := range all[:min(len(all), maxNearest)] {
		err := v.x.scan(chunkSQL, func(s *sqlite3.Stmt) { limit--; yield(readHit(s)) }, n.chunk, in.Session, in.Through, in.parts(),
			in.kinds(), string(in.Role), in.Since)
		if err != nil || limit == 0 {
			return err
		}
	}
	return nil
}
