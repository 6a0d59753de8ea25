package index

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

func waiting(t testing.TB, x *Index, space string) (all []Waiting) {
	t.Helper()
	must(t, x.View(t.Context(), func(v *View) (err error) {
		all, err = v.Waiting(space, 1000)
		return err
	}))
	return all
}

// embed gives each text a vector. The vector's direction is the number at the end of the text, in degrees.
func embed(t testing.TB, x *Index, space string) {
	t.Helper()
	texts := waiting(t, x, space)
	var vectors [][]float32
	for _, text := range texts {
		var degrees float64
		_, err := fmt.Sscan(text.Text[strings.LastIndex(strings.TrimSpace(text.Text), " ")+1:], &degrees)
		must(t, err)
		vectors = append(vectors, at(degrees))
	}
	must(t, x.Update(t.Context(), func(tx *Tx) error { return tx.PutVectors(space, texts, vectors) }))
}

func at(degrees float64) []float32 {
	return []float32{float32(math.Cos(degrees * math.Pi / 180)), float32(math.Sin(degrees * math.Pi / 180)), 0, 0, 0}
}

func near(t testing.TB, x *Index, in Scope, limit int) (all []string) {
	t.Helper()
	must(t, x.View(t.Context(), func(v *View) error {
		return v.Nearest(at(0), in, limit, func(h Hit) { all = append(all, h.Text) })
	}))
	return all
}

func TestNearestInOrder(t *testing.T) {
	x := openIn(t, t.TempDir())
	put(t, x, mine, said("m1", 1, "a 30"), said("m2", 2, "b 5"), said("m3", 3, "c 80"), said("m4", 4, "d 170"))
	other := Session{Harness: "pi", ID: "s2", Project: "git:b"}
	put(t, x, other, said("m1", 1, "e 1"))
	embed(t, x, "s")
	want(t, near(t, x, Scope{}, 10), "e 1", "b 5", "a 30", "c 80") // a vector in the opposite direction is not near
	want(t, near(t, x, Scope{}, 2), "e 1", "b 5")
	var project, row int64
	must(t, x.View(t.Context(), func(v *View) (err error) {
		project, err = v.Project("git:a")
		if err == nil {
			row, err = v.Row("opencode", "ses_1")
		}
		return err
	}))
	want(t, near(t, x, Scope{Project: project}, 10), "b 5", "a 30", "c 80")
	want(t, near(t, x, Scope{Session: row, Through: 1}, 10), "e 1", "a 30")
	want(t, near(t, x, Scope{Filter: Filter{Harness: "opencode"}}, 1), "b 5")
	want(t, near(t, x, Scope{Filter: Filter{SessionID: "s2"}}, 10), "e 1")
	want(t, near(t, x, Scope{Filter: Filter{Since: 3}}, 10), "c 80")
	want(t, near(t, x, Scope{Filter: Filter{Role: User}}, 10))
	want(t, near(t, x, Scope{Filter: Filter{Kinds: []Kind{Rule}}}, 10))
}

func TestDeletedTextLosesItsVector(t *testing.T) {
	x := openIn(t, t.TempDir())
	put(t, x, mine, said("m1", 1, "a 30"), said("m2", 2, "b 5"))
	embed(t, x, "s")
	put(t, x, mine, Message{Key: "m1", Ordinal: 1, Hash: 99, Chunks: []Chunk{{Kind: Text, Role: Agent, Text: "new 40"}}})
	want(t, near(t, x, Scope{}, 10), "b 5")
	embed(t, x, "s")
	want(t, near(t, x, Scope{}, 10), "b 5", "new 40")
	texts := waiting(t, x, "another space")
	must(t, x.Update(t.Context(), func(tx *Tx) error {
		state, err := tx.Session(mine)
		return errors.Join(err, tx.Clear(state.Row), tx.PutVectors("s", texts, [][]float32{at(1), at(2)})) // of deleted texts
	}))
	want(t, near(t, x, Scope{}, 10))
	must(t, x.View(t.Context(), func(v *View) error {
		stored, _, err := v.Vectors("s")
		if stored != 0 {
			t.Errorf("%d vectors without a text", stored)
		}
		return err
	}))
}

func TestVectorsOfTwoSpacesAreNotMixed(t *testing.T) {
	x := openIn(t, t.TempDir())
	put(t, x, mine, said("m1", 1, "a 30"), said("m2", 2, "b 5"))
	embed(t, x, "s")
	texts := waiting(t, x, "s2")
	if len(texts) != 2 {
		t.Fatal(texts)
	}
	must(t, x.Update(t.Context(), func(tx *Tx) error { return tx.PutVectors("s2", texts[:1], [][]float32{{1, 0, 0}}) }))
	must(t, x.View(t.Context(), func(v *View) error {
		name, err := v.Space()
		stored, waits, err2 := v.Vectors("s2")
		if old, _, _ := v.Vectors("s"); name != "s2" || stored != 1 || waits != 1 || old != 0 {
			t.Errorf("%s: %d, %d; %d old ones", name, stored, waits, old)
		}
		return errors.Join(err, err2)
	}))
	want(t, near(t, x, Scope{}, 10)) // the vector of the query has another number of dimensions
	err := x.Update(t.Context(), func(tx *Tx) error { return tx.PutVectors("s2", texts[1:], [][]float32{at(1)}) })
	if !errors.Is(err, ErrDimensions) {
		t.Error(err)
	}
}

func TestOnlyTheNewestTextsHaveVectors(t *testing.T) {
	defer func(n int) { maxVectors = n }(maxVectors)
	maxVectors = 2000
	x := openIn(t, t.TempDir())
	var all []Message
	for i := range maxVectors + 10 {
		all = append(all, said(fmt.Sprint("m", i), i, fmt.Sprint("a ", i)))
	}
	put(t, x, mine, all...)
	if texts := waiting(t, x, "s"); texts[0].Text != "a 10\n" {
		t.Error(texts[0])
	}
	must(t, x.Update(t.Context(), func(tx *Tx) error {
		for from := 0; from < maxVectors; from += 1000 {
			texts, err := (&View{x}).Waiting("s", 1000)
			vectors := make([][]float32, len(texts))
			for i := range vectors {
				vectors[i] = []float32{1}
			}
			if err := errors.Join(err, tx.PutVectors("s", texts, vectors)); err != nil {
				return err
			}
		}
		return nil
	}))
	put(t, x, mine, said("new", 1, "new"))
	must(t, x.Update(t.Context(), func(tx *Tx) error {
		texts, err := (&View{x}).Waiting("s", 1000)
		if len(texts) != 1 || texts[0].Text != "new\n" {
			t.Error(texts)
		}
		return errors.Join(err, tx.PutVectors("s", texts, [][]float32{{1}}))
	}))
	must(t, x.View(t.Context(), func(v *View) error {
		stored, waits, err := v.Vectors("s")
		if stored != maxVectors || waits != 0 {
			t.Errorf("%d and %d", stored, waits)
		}
		return err
	}))
}
