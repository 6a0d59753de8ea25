package importing

import (
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/agents/historian"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/indexing"
	"github.com/magicctx/magicctx-host/internal/project"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/secret"
	"github.com/magicctx/magicctx-host/internal/summary"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/index"
	"github.com/magicctx/magicctx-host/store/plugindb"
)

// findSessions lists the sessions in the harnesses' stores. If OpenCode 2 has taken over a session of version 1, it
// lists only the copy of version 2.
func (x *run) findSessions() error {
	sources, err := x.Reader.List(x.ctx, func(string, error) {}) // a session that cannot be read is reported as missing
	x.sessions = map[string]*rawhistory.Stored{}
	for _, source := range sources {
		for i := range source.Sessions {
			s := &source.Sessions[i]
			isOurs := s.Harness.Program() == schema.HarnessOpenCode || s.Harness == schema.HarnessPi
			if x.sessions[s.ID] == nil && isOurs {
				x.sessions[s.ID] = s
			}
		}
	}
	return err
}

type summarised struct {
	chronicle.Compartment
	first, last string
}

func (x *run) takeCompartments() error {
	var session string
	var all []summarised
	columns := []string{
		"session_id", "start_message_id", "end_message_id", "title", "content", "p1", "p2", "p3", "p4", "importance", "episode_type", "created_at",
	}
	err := x.db.Each("compartments", columns, "ORDER BY session_id, sequence", func(r *plugindb.Row) error {
		id := r.Text(0)
		if id != session && len(all) > 0 {
			if err := x.takeSession(session, all); err != nil {
				return err
			}
			all = nil
		}
		session = id
		c := summarised{first: r.Text(1), last: r.Text(2)}
		c.Title, c.Importance, c.Episode, c.CreatedAt, c.MadeBy = format.Clean(clean(r.Text(3))), int(min(100, max(1, r.Int(9)))), format.Clean(clean(r.Text(10))), r.Int(11), chronicle.ByModel
		if c.Tiers = [4]string{clean(r.Text(5)), clean(r.Text(6)), clean(r.Text(7)), clean(r.Text(8))}; c.Tiers[0] == "" {
			c.Tiers = [4]string{clean(r.Text(4))} // an older version of the plugin wrote only one text
		}
		if r.IsBad {
			c.first = "" // no message has this id
		}
		all = append(all, c)
		return x.tick(1)
	})
	if err == nil && len(all) > 0 {
		err = x.takeSession(session, all)
	}
	return err
}

// clean removes credentials, and characters that could hide a part of the text. Neither may reach the store.
func clean(text string) string { return strings.TrimSpace(secret.Redact(format.CleanLines(text))) }

// takeSession imports the compartments of a session, up to the first one that does not match the session's messages.
func (x *run) takeSession(id string, all []summarised) error {
	left := func(n int, reason string) {
		if n > 0 {
			x.report.count("compartments", n, reason)
		}
	}
	stored := x.sessions[id]
	switch {
	case stored == nil:
		left(len(all), isNotHere)
		return nil
	case stored.Harness == schema.HarnessPi:
		left(len(all), "the plugin names messages of Pi otherwise than magicctx")
		return nil
	}
	key := store.Key{Harness: string(stored.Harness), Session: id}
	rows, err := x.fitting(stored.Session, all)
	switch {
	case x.ctx.Err() != nil:
		return err
	case err != nil:
		left(len(all), "its session cannot be read")
		return nil
	}
	left(len(all)-len(rows), "its messages are not in the session, or do not follow those of the summary before")
	if len(rows) == 0 {
		return nil
	}
	isTaken := false
	err = store.RunImport(x.ctx, x.Dir, x.Clock.Now(), x.IsRehearsal, func(i *store.Import) (err error) {
		if err := i.Session(key, stored.Directory); err != nil {
			return err
		}
		isTaken, err = i.Compartments(key, rows)
		return err
	})
	reason := ""
	if !isTaken {
		reason = "magicctx has summaries of its session"
	}
	if err == nil {
		left(len(rows), reason)
	}
	return err
}

func (x *run) fitting(s rawhistory.Session, all []summarised) (rows []chronicle.Compartment, err error) {
	codec, _ := transcript.CodecOf(string(s.Harness))
	var c *summarised // the compartment to which the present message belongs
	var raw []historian.Message
	_, err = x.Reader.Read(x.ctx, s, 1, math.MaxInt, func(m rawhistory.Message) bool {
		id := ""
		if m.Decoded != nil {
			id = m.Decoded.Key
		}
		if c == nil {
			if len(rows) == len(all) || all[len(rows)].first == "" || all[len(rows)].first != id {
				return false
			}
			c = &all[len(rows)]
			c.Start = m.Ordinal
		}
		if c.Keys = append(c.Keys, id); m.Decoded != nil {
			of := history.MessageOf(m.Decoded, m.Ordinal, 0)
			raw = append(raw, summary.RawOf(&of, m.Decoded, codec.Vocabulary()))
			c.RawTokens += raw[len(raw)-1].Tokens()
		}
		if c.last == id && id != "" {
			c.End = m.Ordinal
			receipt := historian.Measure(raw, c.Title, c.Tiers)
			c.Missing, c.Rules, c.Fidelity = receipt.Missing, receipt.Rules, receipt.Score
			rows, c, raw = append(rows, c.Compartment), nil, nil
		}
		return true
	})
	return rows, err
}

var commitID = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

func (x *run) takeCommits(dir string) (err error) {
	if !slices.ContainsFunc(x.db.Tables, func(t plugindb.Table) bool { return t.Name == "git_commits" && t.Rows > 0 }) {
		return nil
	}
	var in indexing.Indexer
	if x.IsRehearsal { // the index stays as it is
		if in.Index, err = index.OpenReadOnly(x.ctx, dir); errors.Is(err, index.ErrMissing) {
			err = nil
		}
	} else {
		in.Index, err = index.Open(x.ctx, dir)
	}
	if err != nil {
		return err
	}
	if in.Index != nil {
		defer in.Index.Close()
	}
	var of string
	var all []project.Commit
	store := func() error {
		batch := all
		all = nil
		if len(batch) == 0 {
			return nil
		}
		lacking, err := in.Lacking(x.ctx, of, batch)
		if err == nil && len(lacking) > 0 && !x.IsRehearsal {
			err = in.Add(x.ctx, of, lacking)
		}
		if err != nil {
			return err
		}
		x.report.count("git_commits", len(lacking), "")
		if n := len(batch) - len(lacking); n > 0 {
			x.report.count("git_commits", n, isKnown)
		}
		return nil
	}
	err = x.db.Each("git_commits", []string{"project_path", "sha", "message", "committed_at"}, "ORDER BY project_path, committed_at, sha", func(r *plugindb.Row) error {
		identity, err := x.project(r.Text(0))
		if err != nil {
			return err
		}
		if identity != of || len(all) >= batchRows {
			if err := store(); err != nil {
				return err
			}
			of = identity
		}
		c := project.Commit{ID: r.Text(1), At: r.Int(3)}
		c.Subject, c.Body, _ = strings.Cut(strings.TrimSpace(r.Text(2)), "\n")
		switch {
		case r.IsBad || !commitID.MatchString(c.ID) || c.Subject == "":
			x.report.count("git_commits", 1, isOdd)
		case identity == "":
			x.report.count("git_commits", 1, hasNoProject)
		default:
			all = append(all, c)
		}
		return x.tick(1)
	})
	if err != nil {
		return err
	}
	return store()
}
