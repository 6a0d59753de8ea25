package rawhistory

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// A logFormat describes how Claude Code or Codex stores a session: in a log, a file of JSON lines.
type logFormat struct {
	name string
	// dirs returns the directories in which the program keeps its logs. names are patterns for the paths of the logs in
	// these directories. In a pattern, "%" stands for the session's id.
	dirs  func(Reader) []string
	names []string
	// The reader calls `head` with each line, from the first one on, until a line names the session's directory. `head`
	// returns false if the file is not a log of this format.
	head  func(number int, line []byte, h *logHead) bool
	steps func(ctx context.Context, file io.ReaderAt, size int64) ([]logStep, error)
	// message returns a step in the form of Pi's shim, or nil if a line is unreadable.
	message func(key string, lines, results [][]byte) json.Value
}

var logFormats = map[schema.Harness]*logFormat{transcript.ClaudeCode: &claudeLog, transcript.Codex: &codexLog}

// Readable lists the programs whose stored sessions a Reader can read: OpenCode, Pi, Claude Code and Codex.
var Readable = append(slices.Clone(schema.Harnesses), transcript.ClaudeCode, transcript.Codex)

type logHead struct {
	// id is the name of the file until a line contains the session's id.
	id, directory string
	// isSubagent means that the session belongs to a subagent. It is ignored, because a model wrote its prompts.
	isSubagent bool
}

// One of the first headLines lines must name the session's directory.
const headLines = 200

type span struct {
	offset int64
	length int
}

// A logStep lists the lines of a message: a prompt, or the parts of an answer with the results of its calls.
type logStep struct {
	key            string // empty if the message is unreadable
	lines, results []span
	size           int
}

// fits reports whether the step may contain one more line. All lines of a step together are at most as long as the
// longest line may be, so reading a step needs no more memory than reading one line.
func (s *logStep) fits(line span) bool { return s.size+line.length <= maxLine }

func (s *logStep) add(to *[]span, line span) {
	*to = append(*to, line)
	s.size += line.length
}

// eachLine calls the function `read` with each line until `read` returns an error. For the error io.EOF, eachLine
// returns nil. It skips a last line without a line end, because a program is still writing that line.
func eachLine(ctx context.Context, file io.ReaderAt, size int64, read func(number int, line []byte, at span) error) error {
	lines := lineReader{in: bufio.NewReaderSize(io.NewSectionReader(file, 0, size), 64<<10)}
	for number := 1; ; number++ {
		line, offset, err := lines.next()
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err == nil {
			err = read(number, line, span{offset, len(line)})
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
}

func (r Reader) readLog(ctx context.Context, format *logFormat, s Session, start, end int, yield func(Message) bool) (Extent, error) {
	path, err := r.findLog(format, s.ID)
	if err != nil {
		return Extent{}, err
	}
	file, size, err := openPlain(path)
	if err != nil {
		return Extent{}, err
	}
	defer file.Close()
	extent, err := readLogFile(ctx, format, file, size, s, start, end, yield)
	extent.Path = path
	if err != nil {
		return extent, fmt.Errorf("%s: %w", path, err)
	}
	return extent, nil
}

func readLogFile(ctx context.Context, format *logFormat, file io.ReaderAt, size int64, s Session, start, end int, yield func(Message) bool) (Extent, error) {
	steps, err := format.steps(ctx, file, size)
	if err != nil {
		return Extent{}, err
	}
	entries := make([]history.Entry, len(steps))
	seen := map[string]int{}
	for i := range steps {
		if steps[i].key != "" {
			steps[i].key = numbered(steps[i].key, seen)
		}
		entries[i].Key = steps[i].key
	}
	codec, _ := transcript.CodecOf(string(s.Harness))
	return Deliver(ctx, codec, entries, s.Anchors, start, end, func(i int) (json.Value, error) {
		step := &steps[i]
		if step.key == "" {
			return nil, nil
		}
		lines, err := readSpans(file, step.lines)
		if err != nil {
			return nil, err
		}
		results, err := readSpans(file, step.results)
		if err != nil {
			return nil, err
		}
		return format.message(step.key, lines, results), nil
	}, yield)
}

func readSpans(file io.ReaderAt, spans []span) ([][]byte, error) {
	all := make([][]byte, len(spans))
	for i, at := range spans {
		all[i] = make([]byte, at.length)
		if _, err := file.ReadAt(all[i], at.offset); err != nil {
			return nil, fmt.Errorf("read the line at byte %d again: %w", at.offset, err)
		}
	}
	return all, nil
}

func (r Reader) findLog(format *logFormat, id string) (string, error) {
	if !piSessionID.MatchString(id) {
		return "", fmt.Errorf("%w: %s has no session with such an id", ErrUnknownSession, format.name)
	}
	paths := r.logsOf(format, id)
	if len(paths) == 0 {
		return "", fmt.Errorf("%w: %s has no log of it in %s", ErrUnknownSession, format.name, strings.Join(format.dirs(r), " or "))
	}
	return paths[len(paths)-1], nil
}

// logsOf returns the logs of a session, in the order of their names. The id "*" means all sessions.
func (r Reader) logsOf(format *logFormat, id string) (paths []string) {
	for _, dir := range format.dirs(r) {
		for _, name := range format.names {
			found, _ := fs.Glob(os.DirFS(dir), strings.ReplaceAll(name, "%", id)) // the only error is a bad pattern
			for _, path := range found {
				paths = append(paths, filepath.Join(dir, filepath.FromSlash(path)))
			}
		}
	}
	return paths
}

// If the file contains no session, logAt returns nil. It also returns nil for a subagent's session, because a
// model wrote its prompts.
func logAt(ctx context.Context, harness schema.Harness, path string) (*Stored, error) {
	format := logFormats[harness]
	f, size, err := openPlain(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := logHead{id: strings.TrimSuffix(filepath.Base(path), ".jsonl")}
	lines := 0
	err = eachLine(ctx, f, size, func(number int, line []byte, _ span) error {
		lines = number
		switch {
		case !format.head(number, line, &head):
			return fmt.Errorf("the file is not a session log of %s", format.name)
		case head.directory != "" || head.isSubagent || number == headLines:
			return io.EOF
		}
		return nil
	})
	if err == nil && lines == 0 && size > 0 {
		err = errors.New("the file has no whole line")
	}
	if err != nil || head.isSubagent || head.directory == "" || !piSessionID.MatchString(head.id) {
		return nil, err
	}
	stamp, err := stampOf(f)
	return &Stored{Session: Session{Harness: harness, ID: head.id, Directory: head.directory}, Source: path, Stamp: stamp}, err
}

// below returns the directory that an environment variable names. If the variable is empty, it returns directories in
// the user's home directory.
func (r Reader) below(variable string, names ...string) (dirs []string) {
	if dir := r.expandHome(r.Env(variable)); dir != "" {
		return []string{dir}
	}
	if r.home() == "" {
		return nil
	}
	for _, name := range names {
		dirs = append(dirs, filepath.Join(r.home(), name))
	}
	return dirs
}

type logBlock struct {
	Type      string     `json:"type"`
	Text      string     `json:"text,omitzero"`
	Thinking  string     `json:"thinking,omitzero"`
	ID        string     `json:"id,omitzero"`
	Name      string     `json:"name,omitzero"`
	Arguments json.Value `json:"arguments,omitzero"`
	MimeType  string     `json:"mimeType,omitzero"`
	Data      string     `json:"data,omitzero"`
}

type logMessage struct {
	Role       string     `json:"role"`
	Content    []logBlock `json:"content,omitzero"`
	StopReason string     `json:"stopReason,omitzero"`
	Timestamp  json.Value `json:"timestamp,omitzero"`
	Command    string     `json:"command,omitzero"`
	Output     string     `json:"output,omitzero"`
	ExitCode   *int       `json:"exitCode,omitzero"`
}

// A logResult is a tool's result in Pi's form. ExitCode is the exit status of a command.
type logResult struct {
	ToolCallID string     `json:"toolCallId"`
	Content    json.Value `json:"content"`
	IsError    bool       `json:"isError,omitzero"`
	ExitCode   *int       `json:"exitCode,omitzero"`
	Timestamp  json.Value `json:"timestamp,omitzero"`
}

func piStepOf(key string, m logMessage, results []logResult) json.Value {
	v, err := json.Marshal(struct {
		ID      string      `json:"id"`
		Message logMessage  `json:"message"`
		Results []logResult `json:"results,omitempty"`
	}{key, m, results})
	if err != nil {
		return nil
	}
	return v
}

// promptOf returns a prompt in Pi's form. If the prompt only shows a command that the user ran in the program, promptOf
// returns the command and its output.
func promptOf(blocks []logBlock, isTyped bool, timestamp string) logMessage {
	m := logMessage{Role: "user", Content: blocks, Timestamp: unixMilliseconds(timestamp)}
	if !isTyped {
		m.Role = "custom"
	} else if len(blocks) > 0 {
		if ran := userRan.FindStringSubmatch(blocks[0].Text); ran != nil {
			m.Role, m.Content, m.Command, m.Output = "bashExecution", nil, strings.TrimSpace(ran[1]+ran[2]), ran[4]
			m.ExitCode = number(ran[3])
		}
	}
	return m
}
