package memories

import (
	"context"
	"fmt"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/terms"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
)

const (
	// maxCandidates bounds the observations that wait for other sessions. The oldest are deleted first.
	maxCandidates = 500
	// If the store has this many memories about the user, including archived ones, it ignores observations.
	maxOfUser = 200
	// Two observations are alike if the longer one has at least this share of the shorter one's words, in the same
	// order.
	alike = 0.8
)

// A candidate is an observation about the user that a session has made. It has not become a memory yet.
type candidate struct {
	id                               int64
	harness, session, content, words string
	message                          int
}

// isOf reports whether c comes from the same session as m, or from a fork of it. A fork repeats an observation: it has
// the same words at the same message.
func (c *candidate) isOf(m *chronicle.Memory, words string) bool {
	return c.harness == m.Harness && c.session == m.Session || c.message == m.Message && c.words == words
}

// Observe stores the observations of a session. If enough different sessions have made the same observation, it becomes
// a memory of the user. If the user has archived such a memory, the observation is ignored.
func Observe(tx *database.Tx, all []chronicle.Observation, threshold int, harness, session string, now int64) error {
	e := Editing(tx, now)
	for i, o := range all {
		if err := e.observe(o, max(2, threshold), harness, session); err != nil {
			return fmt.Errorf("observation %d: %w", i, err)
		}
	}
	if len(all) == 0 {
		return nil
	}
	_, err := tx.Exec(`DELETE FROM user_candidates WHERE id NOT IN (SELECT id FROM user_candidates ORDER BY id DESC LIMIT ?)`, maxCandidates)
	return err
}

func (e *Editor) observe(o chronicle.Observation, threshold int, harness, session string) error {
	m := chronicle.Memory{
		Project: chronicle.UserProject, Category: chronicle.UserCategory, Content: textOf(o.Content), Source: chronicle.FromHistorian,
		Harness: harness, Session: session, Message: o.Source.Start,
	}
	if m.Content == "" {
		return nil
	}
	known, err := e.Reader().All(chronicle.UserProject, true, 0)
	if err != nil {
		return err
	}
	if len(known) >= maxOfUser {
		return nil
	}
	for _, old := range known {
		if !isAlike(old.Content, m.Content) {
			continue
		}
		if old.Status == chronicle.MemoryIsActive {
			return e.seen(old.ID, m)
		}
		return nil // the user does not want it
	}
	var same []candidate
	err = e.tx.Scan(`SELECT id, harness, session_id, content, words, message FROM user_candidates ORDER BY id`, func(s *sqlite3.Stmt) {
		c := candidate{s.ColumnInt64(0), s.ColumnText(1), s.ColumnText(2), s.ColumnText(3), s.ColumnText(4), s.ColumnInt(5)}
		if isAlike(c.content, m.Content) {
			same = append(same, c)
		}
	})
	words := hash(o.Words)
	if err != nil || slices.ContainsFunc(same, func(c candidate) bool { return c.isOf(&m, words) }) {
		return err
	}
	if len(same)+1 < threshold { // each session has the observation once at most
		_, err := e.tx.Exec(`INSERT INTO user_candidates (harness, session_id, message, words, content, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
			harness, session, m.Message, words, m.Content, e.now)
		return err
	}
	for _, c := range same {
		if _, err := e.tx.Exec(`DELETE FROM user_candidates WHERE id = ?`, c.id); err != nil {
			return err
		}
	}
	m.Seen = len(same) + 1
	_, err = e.insert(m)
	return err
}

// Two observations are alike if the longer one has most words of the shorter one, in the same order: "tabs over
// spaces" is not "spaces over tabs". If only one has a refusing word, for example "never", the two are opposites.
func isAlike(a, b string) bool {
	if hash(a) == hash(b) {
		return true
	}
	x, no := wordsOf(a)
	y, alsoNo := wordsOf(b)
	shorter, longer := min(len(x), len(y)), max(len(x), len(y))
	return no == alsoNo && shorter >= 2 && longer <= 2*shorter && float64(commonWords(x, y)) >= alike*float64(shorter)
}

// `frame` lists words that many observations share, so they say nothing about the subject. A word in `refusing` turns
// an observation into its opposite.
var (
	frame    = termsOf("the a an this that user users prefers wants likes asks expects values tends to for of in on with and or be is are his her their its when very always")
	refusing = termsOf("no not never without avoids dislikes hates rejects refuses don doesn nicht kein keine nie niemals ohne jamais pas sans nunca sin sem")
)

func termsOf(text string) map[string]bool {
	all := map[string]bool{}
	terms.Each(text, func(term []byte, _ int) { all[string(term)] = true })
	return all
}

// wordsOf returns the words that say what an observation is about: it leaves out the words in `frame` and in
// `refusing`. `no` reports whether the observation contains a word in `refusing`, for example "never".
func wordsOf(text string) (words []string, no bool) {
	const most = 40 // an observation is one sentence
	terms.Each(text, func(term []byte, _ int) {
		switch word := string(term); {
		case refusing[word]:
			no = true
		case !frame[word] && len(words) < most:
			words = append(words, word)
		}
	})
	return words, no
}

func commonWords(x, y []string) int {
	row := make([]int, len(y)+1)
	for _, a := range x {
		before := 0
		for j, b := range y {
			above := row[j+1]
			if a == b {
				row[j+1] = before + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			before = above
		}
	}
	return row[len(y)]
}

func (s *Memories) OfUser(ctx context.Context) (all []chronicle.Memory, err error) {
	err = s.db.View(ctx, func(c *sqlite3.Conn) error {
		return file.Scan(c, memorySelectSQL, func(row *sqlite3.Stmt) { all = append(all, readMemory(row)) }, chronicle.UserProject, false, 0, 0)
	})
	if err != nil {
		return nil, fmt.Errorf("read memories of the user: %w", err)
	}
	return all, nil
}
