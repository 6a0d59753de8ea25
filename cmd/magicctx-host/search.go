package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/embedding"
	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/internal/search"
	"github.com/magicctx/magicctx-host/internal/view"
	"github.com/magicctx/magicctx-host/store/file"
	"github.com/magicctx/magicctx-host/store/index"
)

// searchCmd reads the index itself, so it needs no host.
type searchCmd struct {
	dataDirFlag
	Query []string `arg:"" help:"Words to look for, in any order."`
	Limit int      `help:"The most hits to show." default:"10"`
	JSON  bool     `help:"Print JSON."`

	Only    string `help:"Only hits of one kind: ${onlys}." enum:",${onlys}" default:""`
	Days    *int   `help:"Only the last days." placeholder:"N"`
	Harness string `help:"Sessions of this program only: ${readable}." enum:",${readable}" default:"" placeholder:"NAME"`
	Session string `help:"Only the session with this id." placeholder:"ID"`
}

func (cmd *searchCmd) Run(ctx context.Context, s streams) (err error) {
	defer asGrep(&err)
	dir, err := cmd.resolve()
	if err != nil {
		return err
	}
	if cmd.Limit < 1 {
		return fmt.Errorf("--limit is %d; it is at least 1", cmd.Limit)
	}
	q := search.Query{Text: strings.Join(cmd.Query, " "), Limit: cmd.Limit}
	q.Only, _ = search.Only(cmd.Only)
	q.Only.Harness, q.Only.SessionID = cmd.Harness, cmd.Session
	if cmd.Days != nil {
		if *cmd.Days < 1 {
			return fmt.Errorf("--days is %d; it is at least 1", *cmd.Days)
		}
		q.Only.Since = time.Now().AddDate(0, 0, -*cmd.Days).UnixMilli()
	}
	q.Embed = (&embedding.Source{Env: os.Getenv, Failed: func(err error) { fmt.Fprintf(s.err, "Only words are searched: %v\n", err) }}).Query
	all, err := found(ctx, dir, q)
	switch {
	case err != nil:
		return err
	case cmd.JSON:
		err = printJSON(s.out, struct {
			Hits []view.Found `json:"hits"`
		}{all})
	default:
		err = view.PrintFound(s.out, all, pageOf(s))
	}
	if err == nil && len(all) == 0 {
		err = nothingFound()
	}
	return err
}

func nothingFound() error {
	return &exitError{exitFailed, errors.New("nothing found; try other or fewer words")}
}

// asGrep gives errors exit code 2, as in grep. Exit code 1 means only that nothing was found.
func asGrep(err *error) {
	if _, isNothingFound := errors.AsType[*exitError](*err); *err != nil && !isNothingFound {
		*err = &exitError{exitNotSearched, *err}
	}
}

func found(ctx context.Context, dir string, q search.Query) ([]view.Found, error) {
	x, err := index.OpenReadOnly(ctx, dir)
	if errors.Is(err, index.ErrMissing) {
		return nil, fmt.Errorf("%w; %s index creates it", err, program.Name())
	}
	if err != nil {
		return nil, repairable(err)
	}
	defer x.Close()
	q.Now = time.Now().UnixMilli()
	hits, err := search.Search(ctx, x, q)
	all := []view.Found{} // not nil, so that the JSON of an empty list is []
	for _, h := range hits {
		f := view.Found{
			Kind: string(h.Kind), Role: string(h.Role), Project: h.Session.Project, Directory: h.Session.Directory, Harness: h.Session.Harness,
			Session: h.Session.ID, Ordinal: h.Last, Message: h.Message, At: h.At, Score: h.Score, Status: h.Status, Text: h.Text,
		}
		if h.Kind == index.Error {
			f.Tool = h.Subject
		}
		all = append(all, f)
	}
	return all, repairable(err)
}

func repairable(err error) error {
	if err != nil && (file.IsDamage(err) || errors.Is(err, file.ErrDamaged)) {
		return fmt.Errorf("%w; %s index makes it anew", err, program.Name())
	}
	return err
}
