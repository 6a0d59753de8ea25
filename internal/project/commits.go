package project

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

type Commit struct {
	ID            string
	At            int64 // Unix ms
	Subject, Body string
}

// Head returns the newest commit of a directory. If there is no commit or no git, Head fails.
func Head(ctx context.Context, directory string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	head, err := git(ctx, directory, "rev-parse", "--verify", "HEAD^{commit}", "--")
	head, _, _ = strings.Cut(head, "\n") // "--" is printed, too
	if err == nil && !commit.MatchString(head) {
		err = fmt.Errorf("git names %q as HEAD", head)
	}
	return head, err
}

// A commit message is cut after maxMessage bytes, because the rest is most likely data. recordEnd separates the commits
// in git's output. It is the only byte that a message cannot contain. With any other separator, a message could pretend
// to be two commits.
const (
	maxMessage = 64 << 10
	fieldEnd   = "\x1f"
	recordEnd  = 0
)

// A Span selects Head and those of its ancestors that were made after Since. If there are more than Limit commits, it
// selects the newest. If Known is not "", it leaves out Known and the ancestors of Known.
type Span struct {
	Head, Known string
	Since       time.Time
	Limit       int
}

// Commits calls `yield` with each commit of the span, except merges, the newest first. It reads git's output only as
// far as it needs for `yield`, so the repository may be large.
func Commits(ctx context.Context, directory string, s Span, yield func(Commit) error) error {
	args := []string{
		"-c", "log.showSignature=false", "log", "--no-merges", "--no-notes", "--no-color", "--no-decorate", "--encoding=UTF-8",
		"--max-count=" + strconv.Itoa(s.Limit), "--since=" + strconv.FormatInt(s.Since.Unix(), 10), "--format=%H%x1f%ct%x1f%s%x1f%b%x00", s.Head,
	}
	if s.Known != "" {
		args = append(args, "^"+s.Known)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := command(ctx, directory, append(args, "--")...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	err = readCommits(bufio.NewReader(out), yield)
	if err != nil {
		cancel()
	}
	if ended := cmd.Wait(); err == nil && ended != nil {
		err = fmt.Errorf("git log: %w: %s", ended, bytes.TrimSpace(said.Bytes()))
	}
	return err
}

func readCommits(r *bufio.Reader, yield func(Commit) error) error {
	var record []byte
	for {
		part, err := r.ReadSlice(recordEnd)
		record = append(record, part[:min(len(part), maxMessage-len(record))]...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		fields := strings.SplitN(strings.TrimLeft(strings.TrimSuffix(string(record), string(rune(recordEnd))), "\n"), fieldEnd, 4)
		record = record[:0]
		if len(fields) < 4 || !commit.MatchString(fields[0]) { // the subject is too long
			continue
		}
		seconds, _ := strconv.ParseInt(fields[1], 10, 64)
		if err := yield(Commit{fields[0], seconds * 1000, fields[2], strings.TrimSpace(fields[3])}); err != nil {
			return err
		}
	}
}

// Merged reports whether the branch `into` contains the branch `branch`: either its newest commit, or one commit with
// all its changes (a squash). `newest` is the newest commit of `branch`. If `branch` is gone, `newest` is `seen`, the
// commit that the caller saw last, or "". If `into` is "", Merged checks the main branch. Both names must be valid
// branch names without patterns.
func Merged(ctx context.Context, directory, branch, into, seen string) (newest string, isMerged bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	tips, err := tipsOf(ctx, directory, nil, branch)
	if newest = seen; len(tips) > 0 {
		newest = tips[0]
	}
	if err != nil || !commit.MatchString(newest) {
		return "", false, err
	}
	targets := []string{into}
	if into == "" {
		targets = []string{"HEAD", "main", "master"}
	}
	tips, err = tipsOf(ctx, directory, []string{"--contains=" + newest}, targets...)
	if err != nil || len(tips) > 0 {
		return newest, err == nil, err
	}
	tips, err = tipsOf(ctx, directory, nil, targets...)
	slices.Sort(tips)
	for _, tip := range slices.Compact(tips) { // a branch here and its copy at origin often end with the same commit
		isMerged, err = isSquashed(ctx, directory, newest, tip)
		if err != nil || isMerged {
			break
		}
	}
	return newest, isMerged, err
}

// tipsOf returns the newest commit of each branch, in this clone and at origin. A branch may be missing in one
// place or in both. The name HEAD means the main branch of origin.
func tipsOf(ctx context.Context, directory string, options []string, branches ...string) (tips []string, err error) {
	args := append([]string{"for-each-ref", "--format=%(objectname) %(refname)"}, options...)
	wanted := map[string]bool{}
	for _, b := range branches {
		for _, ref := range []string{"refs/heads/" + b, "refs/remotes/origin/" + b} {
			wanted[ref] = ref != "refs/heads/HEAD"
			args = append(args, ref)
		}
	}
	out, err := git(ctx, directory, args...)
	for line := range strings.Lines(out) { // a name also finds the branches below it
		if id, ref, _ := strings.Cut(strings.TrimSpace(line), " "); wanted[ref] {
			tips = append(tips, id)
		}
	}
	return tips, err
}
