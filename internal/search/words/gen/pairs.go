package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"path"
	"regexp"
	"strings"

	"github.com/magicctx/magicctx-host/internal/terms"
)

// A pair is two texts with the same meaning: a heading and its section, or the subject of a commit and its body. Each
// text is a list of terms.
type pair struct{ short, long []string }

const (
	fewestShort = 2  // a pair whose short text has fewer terms is left out
	fewestLong  = 6  // the same for the long text
	most        = 60 // only the first 60 terms of a text are used
)

// noise matches lines for programs: trailers, addresses, tables, code.
var noise = regexp.MustCompile(`^(\s*[A-Z][\w-]+-[Bb]y:|\(cherry picked|git-svn-id|Change-Id|\s*https?://\S*$|\||\s*\.\. |<|!\[|:[\w-]+:)`)

var address = regexp.MustCompile(`https?://\S+|\b[0-9a-f]{7,40}\b|\S+@\S+|` + "`[^`\n]*`")

func cleaned(text string) string {
	var b strings.Builder
	isCode := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			isCode = !isCode
			continue
		}
		if !isCode && !noise.MatchString(line) {
			b.WriteString(line)
		}
	}
	return address.ReplaceAllStringFunc(b.String(), func(s string) string {
		if s[0] == '`' && len(s) < 40 { // a name
			return s
		}
		return " "
	})
}

func telling(text string) (all []string) {
	for _, term := range terms.Of(text) {
		if !terms.IsFunctionWord(term) && len(all) < most && strings.ContainsAny(term, "abcdefghijklmnopqrstuvwxyz") {
			all = append(all, term)
		}
	}
	return all
}

type collector struct {
	seen map[string]bool
	out  io.Writer
}

func (c *collector) add(short, long string) {
	p := pair{telling(short), telling(cleaned(long))}
	key := strings.Join(p.short, " ")
	if len(p.short) < fewestShort || len(p.long) < fewestLong || c.seen[key] {
		return
	}
	c.seen[key] = true
	fmt.Fprintln(c.out, key+"\t"+strings.Join(p.long, " "))
}

func (c *collector) commits(dir string) error {
	out, err := exec.Command("git", "--git-dir", dir, "log", "--no-merges", "--format=%s%x01%b%x02").Output()
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	for commit := range strings.SplitSeq(string(out), "\x02") {
		subject, body, _ := strings.Cut(commit, "\x01")
		c.add(subject, body)
	}
	return nil
}

var headings = map[string]*regexp.Regexp{
	".md":   regexp.MustCompile(`(?m)^#{1,5} +(.+)$`),
	".mdx":  regexp.MustCompile(`(?m)^#{1,5} +(.+)$`),
	".adoc": regexp.MustCompile(`(?m)^={1,5} +(.+)$`),
	".rst":  regexp.MustCompile(`(?m)^(\w.+)\n[=~^"'*+-]{4,}$`),
	".txt":  regexp.MustCompile(`(?m)^(\w.+)\n[=~^-]{4,}$`),
	".go":   nil,
}

var comments = regexp.MustCompile(`(?m)((?:^//.*\n){1,20})^(?:func|type) (?:\([^)]*\) )?(\w+)`)

func (c *collector) documents(dir string) error {
	list, err := exec.Command("git", "--git-dir", dir, "ls-tree", "-r", "HEAD").Output()
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	var blobs bytes.Buffer
	var names []string
	for line := range strings.Lines(string(list)) {
		head, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		lower := strings.ToLower(name)
		if _, ok := headings[path.Ext(lower)]; ok && !translated.MatchString(lower) && !strings.Contains(lower, "license") && !strings.Contains(lower, "vendor/") {
			fmt.Fprintln(&blobs, strings.Fields(head)[2])
			names = append(names, lower)
		}
	}
	cmd := exec.Command("git", "--git-dir", dir, "cat-file", "--batch")
	cmd.Stdin = &blobs
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	r := bufio.NewReaderSize(pipe, 1<<20)
	for _, name := range names {
		header, err := r.ReadString('\n')
		if err != nil {
			break // files that the snapshot lacks
		}
		var id, kind string
		var size int
		if n, _ := fmt.Sscan(header, &id, &kind, &size); n < 3 {
			continue
		}
		text := make([]byte, size+1)
		if _, err := io.ReadFull(r, text); err != nil {
			return err
		}
		c.document(path.Ext(name), string(text))
	}
	_, _ = io.Copy(io.Discard, r)
	return cmd.Wait()
}

var translated = regexp.MustCompile(`(^|/)(pages\.|i18n|locales?|translations?|lang|l10n|[a-z]{2}[-_][a-z]{2}|zh|ja|ko|fr|de|es|pt|ru|it)(/|[a-z_]*/)|(\.|_|-)(zh|cn|ja|ko|fr|de|es|pt|ru|it|tr|pl|id|ar|uk|vi|nl)([-_][a-z]+)?\.md`)

func (c *collector) document(ext, text string) {
	if ext == ".go" {
		for _, m := range comments.FindAllStringSubmatch(text, -1) {
			c.add(m[2], strings.ReplaceAll(strings.ReplaceAll(m[1], "// "+m[2], ""), "//", ""))
		}
		return
	}
	at := headings[ext].FindAllStringSubmatchIndex(text, -1)
	title := ""
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		heading := text[m[2]:m[3]]
		body := text[m[1]:end]
		c.add(heading+" "+title, body)
		if i == 0 {
			title = heading
		}
		before := ""
		for paragraph := range strings.SplitSeq(body, "\n\n") {
			paragraph = cleaned(paragraph)
			if len(paragraph) < 80 {
				continue
			}
			if before != "" {
				c.add(before, paragraph)
			}
			before = paragraph
		}
	}
}
