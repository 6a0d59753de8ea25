package store

import (
	"strconv"
	"testing"
)

func BenchmarkCommitPass(b *testing.B) {
	s := openIn(b, b.TempDir())
	must(b, s.CommitPass(b.Context(), firstPass(10_000)))
	n := 5000
	for b.Loop() {
		n++
		must(b, s.CommitPass(b.Context(), commit(key, n)))
	}
}

func BenchmarkCommitFirstPass10k(b *testing.B) {
	s := openIn(b, b.TempDir())
	p := firstPass(10_000)
	for n := 0; b.Loop(); n++ {
		p.Session.Key.Session = strconv.Itoa(n)
		must(b, s.CommitPass(b.Context(), p))
	}
}

func BenchmarkLoad10k(b *testing.B) {
	s := openIn(b, b.TempDir())
	must(b, s.CommitPass(b.Context(), firstPass(10_000)))
	b.ReportAllocs()
	for b.Loop() {
		if got := len(load(b, s, key).Units); got != 10_000 {
			b.Fatal(got)
		}
	}
}

func BenchmarkOpenClose(b *testing.B) {
	dir := b.TempDir()
	s := openIn(b, dir)
	must(b, s.CommitPass(b.Context(), firstPass(10_000)))
	must(b, s.Close())
	for b.Loop() {
		s, err := Open(b.Context(), options(dir))
		must(b, err)
		must(b, s.Close())
	}
}

func firstPass(units int) PassCommit {
	p := commit(key, 1)
	p.Units = nil
	for n := 1; len(p.Units) < units; n++ {
		p.Units = append(p.Units, commit(key, n).Units...)
	}
	for tag := 5; tag <= units; tag += 5 {
		p.Edits = append(p.Edits, EditRow{Tag: tag, Kind: "drop", Pass: 1})
	}
	p.Session.TagCounter = units
	return p
}
