package compare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/traces"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/internal/view/page"
)

// Share writes a report about a recorded trace to the file `path`. `of` is the path of the trace, or the id of a
// session. For a session, Share uses the newest trace.
func Share(ctx context.Context, tell io.Writer, dataDir, of, path string, withTexts bool) error {
	n, err := newestOf(ctx, dataDir, of)
	if err != nil {
		return fmt.Errorf("share: %w", err)
	}
	content, err := n.report(ctx, withTexts, nil)
	if err != nil {
		return err
	}
	return Save(tell, path, content, "read it before you send it")
}

// Report returns a page about the newest trace of a session. The page contains no texts of the session.
func Report(ctx context.Context, dataDir, session string, progress func(done, steps int)) ([]byte, error) {
	n, err := newestOfSession(ctx, dataDir, session)
	if err != nil {
		return nil, fmt.Errorf("share: %w", err)
	}
	return n.report(ctx, false, progress)
}

func (n newest) report(ctx context.Context, withTexts bool, progress func(done, steps int)) ([]byte, error) {
	summary, err := n.play(ctx, replay.Options{Progress: progress})
	if err != nil {
		return nil, fmt.Errorf("share: %w", err)
	}
	page.Share(&summary, withTexts)
	var b bytes.Buffer
	err = page.Write(&b, summary, page.Options{Trace: "a session"})
	return b.Bytes(), err
}

// A newest is the trace to report on: a trace that was named by its path, or the newest trace of a session.
type newest struct {
	trace   traces.Trace
	session string // empty for all sessions of the trace
}

func newestOf(ctx context.Context, dataDir, of string) (newest, error) {
	all, wanted, err := choose(ctx, Options{Dir: dataDir, Of: []string{of}})
	if err != nil {
		return newest{}, err
	}
	if wanted[all[0].Path] == nil {
		of = ""
	}
	return newest{all[0], of}, nil
}

// Unlike newestOf, newestOfSession takes no path.
func newestOfSession(ctx context.Context, dataDir, session string) (newest, error) {
	if session == "" {
		return newest{}, errors.New("name a session")
	}
	found, err := traces.Of(ctx, dataDir, session)
	if err != nil {
		return newest{}, fmt.Errorf("%s: %w", format.Clean(session), err)
	}
	return newest{found[0], session}, nil
}

// The method `play` replays the trace. If n.session is set, the summary contains only this session.
func (n newest) play(ctx context.Context, o replay.Options) (replay.Summary, error) {
	name := format.Clean(filepath.Base(n.trace.Path))
	s, err := play(ctx, n.trace, o)
	if err != nil {
		return s, fmt.Errorf("%s: %w", name, err)
	}
	if n.session == "" {
		return s, nil
	}
	for _, one := range s.Sessions() {
		if one.Detail[0].Session == n.session {
			one.MissedRuns = slices.DeleteFunc(s.MissedRuns, func(r replay.MissedRun) bool { return r.Session != n.session })
			return one, nil
		}
	}
	return s, fmt.Errorf("the replay of %s has no request of this session", name)
}
