package memories

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/store/database"
)

// A Reader reads memories and notes.
type Reader struct {
	scan func(query string, row func(*sqlite3.Stmt), args ...any) error
}

// An Editor changes memories and notes in one transaction. `now` is the time that it records for the changes. Many
// methods accept "" as the project, which means all projects. Only calls for the user may do this.
type Editor struct {
	tx  *database.Tx
	now int64
	run int // the number of the dreamer's run that makes the changes, or 0 if it is not the dreamer
}

func Editing(tx *database.Tx, now int64) *Editor { return &Editor{tx: tx, now: now} }

func (e *Editor) Reader() *Reader { return &Reader{e.tx.Scan} }

// A Refusal is the error for an invalid call, for example with an empty text. The call has changed nothing.
type Refusal string

func (r Refusal) Error() string { return string(r) }

func Refuse(text string, args ...any) error { return Refusal(fmt.Sprintf(text, args...)) }

var (
	// ErrUnknown means that the project has no memory with this id.
	ErrUnknown error = Refusal("the project has no such memory")
	// ErrSame means that another memory already has this content.
	ErrSame error = Refusal("another memory of the project has this content")
	// ErrInactive means that the memory is archived or superseded.
	ErrInactive error = Refusal("the memory is not active")
	// ErrMixed means that a call must name a category: it merges memories of several categories into one memory.
	ErrMixed error = Refusal("the memories have different categories, so the new one needs a category")
	// ErrFull means that models have stored too many memories in the project.
	ErrFull = Refuse("the project has %d memories; archive those that are of no use", maxMemories)
)

// maxContent is the maximum length of a memory or a note, in characters. It is short because a memory is one fact.
// Imported memories may have up to maxImported characters, because the historian's facts in another database may be
// longer.
const (
	maxContent  = 1_000
	maxImported = 10_000
)

// The function `check` cleans the fields of m. If m is not a valid memory, for example because its content is empty or
// has more than `most` characters, the error is a Refusal.
func check(m *chronicle.Memory, most int) error {
	m.Content = textOf(m.Content)
	switch n := utf8.RuneCountInString(m.Content); {
	case n == 0:
		return Refuse("content is empty; write one fact")
	case n > most:
		return Refuse("content has %d characters, and at most %d are possible; write one fact, briefly", n, most)
	case m.Project == chronicle.UserProject && m.Category != chronicle.UserCategory:
		return Refuse("a memory about the user has no other category than %s", chronicle.UserCategory)
	case m.Category == chronicle.UserCategory && m.Project != chronicle.UserProject, m.Project != chronicle.UserProject && !slices.Contains(chronicle.Categories[:], m.Category):
		return Refuse("category is %q; it is one of %s", m.Category, strings.Join(chronicle.Categories[:], ", "))
	}
	return checkRest(m)
}

// The check "none" means no check.
func checkRest(m *chronicle.Memory) error {
	if m.Importance < 0 || m.Importance > 100 {
		return Refuse("importance is %d; it is 1 to 100", m.Importance)
	}
	if m.Check = textOf(m.Check); m.Check == "none" {
		m.Check = ""
	}
	if m.Check == "" {
		return nil
	}
	if _, err := chronicle.ParseCheck(m.Check); err != nil {
		return Refusal(err.Error())
	}
	return nil
}

func isSpace(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }

// All returns the memories of a project, sorted by project and id. If project is "", it returns the memories of all
// projects. Unless `all` is true, it leaves out inactive memories, and memories that have expired by the time `at`
// (Unix ms).
func (r *Reader) All(project string, all bool, at int64) (found []chronicle.Memory, err error) {
	err = r.scan(memorySelectSQL, func(row *sqlite3.Stmt) { found = append(found, readMemory(row)) }, project, all, at, 0)
	return found, err
}

// Visible returns the memories that a session of a project may see at the time `at` (Unix ms), sorted by id. If `at` is
// 0, it includes expired memories.
func (r *Reader) Visible(project string, at int64) (found []chronicle.Memory, err error) {
	err = r.scan(visibleSelectSQL, func(row *sqlite3.Stmt) { found = append(found, readMemory(row)) }, project, at)
	return found, err
}

// Memory returns a memory of any status, or ErrUnknown.
func (r *Reader) Memory(project string, id int64) (chronicle.Memory, error) {
	var m chronicle.Memory
	err := r.scan(memorySelectSQL, func(row *sqlite3.Stmt) { m = readMemory(row) }, project, true, 0, id)
	if err == nil && (m.ID == 0 || id == 0) {
		err = fmt.Errorf("%w: number %d", ErrUnknown, id)
	}
	return m, err
}

// Log returns the changes of a memory, oldest first.
func (r *Reader) Log(id int64) (changes []chronicle.MemoryChange, err error) {
	err = r.scan(changeSQL+` WHERE memory = ?1 AND project = (SELECT project FROM memories WHERE id = ?1) ORDER BY id`, func(row *sqlite3.Stmt) { changes = append(changes, readChange(row)) }, id)
	return changes, err
}

// An Outcome says what Write has done.
type Outcome string

const (
	Stored   Outcome = "stored"
	Known    Outcome = "known"    // an active memory has this content, and counts as seen again
	Restored Outcome = "restored" // a memory that was not active had this content, and is active now
	Proposed Outcome = "proposed" // the memory waits for the user
)

// Write stores a memory. If m is only proposed, it does not become active until the user accepts it.
func (e *Editor) Write(m chronicle.Memory) (chronicle.Memory, Outcome, error) {
	if err := check(&m, maxContent); err != nil {
		return m, "", err
	}
	known, err := e.withContent(m)
	if err != nil {
		return m, "", err
	}
	outcome := Known
	switch {
	case known == nil:
		if outcome = Stored; m.Status == chronicle.MemoryIsProposed {
			outcome = Proposed
		}
		if m.ID, err = e.insert(m); err == nil {
			err = e.checkRoom(m)
		}
	case known.Status == chronicle.MemoryIsActive:
		m.ID, err = known.ID, e.seen(known.ID, m)
	case m.Status == chronicle.MemoryIsProposed:
		outcome, m.ID = Proposed, known.ID
		_, err = e.tx.Exec(`UPDATE memories SET status = 'proposed', updated_at = ?2 WHERE id = ?1`, m.ID, e.now)
	default:
		outcome, m.ID = Restored, known.ID
		if err = e.seen(m.ID, m); err == nil {
			_, err = e.Restore(m.Project, m.ID)
		}
	}
	if err != nil {
		return m, "", err
	}
	m, err = e.Reader().Memory(m.Project, m.ID)
	return m, outcome, err
}

// Import stores memories from another database. They keep their status, except that a superseded memory becomes
// archived: the id of its successor means nothing in this database. If project is not "", all memories become memories
// of this project, except those about the user. If a memory with the same content is already stored, Import leaves it
// unchanged. `added` contains the memories that were new.
func (e *Editor) Import(all []chronicle.Memory, project string) (added []chronicle.Memory, err error) {
	for i, m := range all {
		if m.Project != chronicle.UserProject { // memories about the user belong to no project
			m.Project = cmp.Or(project, m.Project)
		}
		if m.Status == chronicle.MemoryIsSuperseded { // the ids of the other database have no meaning here
			m.Status = chronicle.MemoryIsArchived
		}
		stored, isNew, err := e.Take(m)
		if err != nil {
			return nil, fmt.Errorf("memory %d of the file: %w", i+1, err)
		}
		if isNew {
			added = append(added, stored)
		}
	}
	return added, nil
}

// Take stores one memory from another database. The memory keeps its status, its count and its times. If a memory with
// the same content is already stored, Take returns the stored one unchanged.
func (e *Editor) Take(m chronicle.Memory) (stored chronicle.Memory, isNew bool, err error) {
	if err := check(&m, maxImported); err != nil {
		return m, false, err
	}
	if _, isKnown := importance[m.Source]; !isKnown || !isProject(m.Project) && m.Project != chronicle.UserProject {
		return m, false, Refuse("project %q or source %q is not one that memory export prints", m.Project, m.Source)
	}
	switch m.Status {
	case chronicle.MemoryIsActive, chronicle.MemoryIsProposed, chronicle.MemoryIsArchived, chronicle.MemoryIsSuperseded:
	default:
		return m, false, Refuse("status is %q; it is active, proposed, archived or superseded", m.Status)
	}
	known, err := e.withContent(m)
	if err != nil {
		return m, false, err
	}
	if known != nil {
		return *known, false, nil
	}
	if m.ID, err = e.insert(m); err != nil {
		return m, false, err
	}
	stored, err = e.Reader().Memory(m.Project, m.ID)
	return stored, true, err
}

func isProject(text string) bool {
	return strings.HasPrefix(text, "git:") || strings.HasPrefix(text, "dir:")
}

// checkRoom returns ErrFull if models have stored too many memories in the project. The user's own memories have no
// limit.
func (e *Editor) checkRoom(m chronicle.Memory) error {
	if m.Source == chronicle.FromUser {
		return nil
	}
	full, err := e.tx.Exists(`
		SELECT 1 FROM memories
		WHERE project = ? AND source NOT IN ('historian', 'user') AND status = 'active'
		LIMIT 1 OFFSET ?`, m.Project, maxMemories)
	if err == nil && full {
		err = ErrFull
	}
	return err
}

// Same returns the stored memory with m's category and content, or nil.
func (e *Editor) Same(m chronicle.Memory) (*chronicle.Memory, error) {
	m.Content = textOf(m.Content)
	return e.withContent(m)
}

func (e *Editor) withContent(m chronicle.Memory) (*chronicle.Memory, error) {
	var id int64
	err := e.tx.Scan(`SELECT id FROM memories WHERE project = ? AND category = ? AND hash = ?`,
		func(row *sqlite3.Stmt) { id = row.ColumnInt64(0) }, m.Project, m.Category, hash(m.Content))
	if err != nil || id == 0 {
		return nil, err
	}
	found, err := e.Reader().Memory(m.Project, id)
	return &found, err
}

func (e *Editor) insert(m chronicle.Memory) (id int64, err error) {
	e.tx.WritesMemories = true
	_, err = e.tx.Exec(memoryInsertSQL, m.Project, m.Category, m.Content, hash(m.Content), cmp.Or(m.Importance, importance[m.Source]),
		string(m.Source), m.Harness, m.Session, m.Message, m.ExpiresAt, storedStatus(m), m.Directory, m.SupersededBy,
		max(1, m.Seen), e.past(m.SeenAt), e.past(m.CreatedAt), e.past(m.UpdatedAt), m.Check)
	return e.tx.Conn.LastInsertRowID(), err
}

// The method `past` returns the time `at` of an imported row. If this time is missing or in the future, it returns the
// present time instead.
func (e *Editor) past(at int64) int64 {
	if at <= 0 || at > e.now {
		return e.now
	}
	return at
}

// `importance` is the default importance of a memory, by its source. A memory that the user or the agent wrote on
// purpose is probably worth more than a fact that the historian noticed.
var importance = map[chronicle.Source]int{
	chronicle.FromHistorian: 50, chronicle.FromTool: 50, chronicle.FromWeb: 50, chronicle.FromAgent: 60, chronicle.FromUser: 75,
}

func storedStatus(m chronicle.Memory) string {
	status := cmp.Or(m.Status, chronicle.MemoryIsActive)
	if m.Permanent && status == chronicle.MemoryIsActive {
		return permanent
	}
	return string(status)
}

// A memory that is learned again never expires.
func (e *Editor) seen(id int64, again chronicle.Memory) error {
	_, err := e.tx.Exec(`
		UPDATE memories
		SET seen_count = seen_count + 1, seen_at = ?2, expires_at = 0,
			directory = coalesce((SELECT directory FROM sessions WHERE harness = ?3 AND session_id = ?4), directory)
		WHERE id = ?1`, id, e.now, again.Harness, again.Session)
	return err
}

func (e *Editor) active(project string, id int64) (chronicle.Memory, error) {
	m, err := e.Reader().Memory(project, id)
	switch {
	case err != nil:
		return m, err
	case m.Status == chronicle.MemoryIsSuperseded && m.SupersededBy != 0:
		return m, fmt.Errorf("%w: number %d was superseded by number %d", ErrInactive, id, m.SupersededBy)
	case m.Status != chronicle.MemoryIsActive:
		return m, fmt.Errorf("%w: number %d is %s", ErrInactive, id, m.Status)
	}
	return m, nil
}

// Update calls `change` with an active memory and stores the result. `change` may set the category, content, source,
// importance, end date, permanence and check.
func (e *Editor) Update(project string, id int64, change func(*chronicle.Memory)) (chronicle.Memory, error) {
	before, err := e.active(project, id)
	if err != nil {
		return before, err
	}
	m := before
	change(&m)
	if m.Content != before.Content || m.Category != before.Category {
		err = check(&m, maxContent)
	} else { // a fact of the historian may be longer than maxContent
		err = checkRest(&m)
	}
	if m.Check != before.Check {
		m.Doubt = ""
	}
	if err != nil || m == before {
		return m, err
	}
	same, err := e.withContent(m)
	if err == nil && same != nil && same.ID != id {
		err = errSame(same)
	}
	if err != nil {
		return m, err
	}
	m.UpdatedAt = e.now
	_, err = e.tx.Exec(`
		UPDATE memories
		SET category = ?2, content = ?3, hash = ?4, importance = ?5, status = ?6, expires_at = ?7, updated_at = ?8, source = ?9,
			test = ?10, doubt = ?11
		WHERE id = ?1`, id, m.Category, m.Content, hash(m.Content), cmp.Or(m.Importance, importance[m.Source]), storedStatus(m), m.ExpiresAt, e.now, string(m.Source),
		m.Check, m.Doubt)
	if err != nil {
		return m, err
	}
	return m, e.log(chronicle.MemoryChange{Project: m.Project, Kind: chronicle.MemoryUpdated, Memory: id, Category: m.Category, Content: m.Logged()})
}

// Doubt stores the reason why a memory's check failed, or "" if it did not fail. If the memory has a different check by
// now, the result is out of date, and Doubt changes nothing.
func (e *Editor) Doubt(id int64, check, reason string) error {
	m, err := e.active("", id)
	if errors.Is(err, ErrUnknown) || errors.Is(err, ErrInactive) || err == nil && (m.Check != check || m.Doubt == reason) {
		return nil
	}
	if err == nil {
		_, err = e.tx.Exec(`UPDATE memories SET doubt = ?2 WHERE id = ?1`, id, reason)
	}
	if err != nil {
		return err
	}
	m.Doubt = reason
	return e.log(chronicle.MemoryChange{Project: m.Project, Kind: chronicle.MemoryUpdated, Memory: id, Category: m.Category, Content: m.Logged()})
}

func errSame(m *chronicle.Memory) error {
	return fmt.Errorf("%w: number %d, which is %s", ErrSame, m.ID, m.Status)
}

// Archive archives memories that are active or proposed. If one of them is neither, Archive returns an error and
// archives none.
func (e *Editor) Archive(project string, ids []int64, reason string) ([]chronicle.Memory, error) {
	return e.end(project, ids, chronicle.MemoryIsArchived, chronicle.MemoryChange{Kind: chronicle.MemoryArchived, Content: textOf(reason)})
}

func (e *Editor) end(project string, ids []int64, status chronicle.MemoryStatus, ch chronicle.MemoryChange) (ended []chronicle.Memory, err error) {
	for _, id := range unique(ids) {
		m, err := e.active(project, id)
		if err != nil && m.Status != chronicle.MemoryIsProposed {
			return nil, err
		}
		ended = append(ended, m)
	}
	for _, m := range ended {
		_, err := e.tx.Exec(`UPDATE memories SET status = ?2, superseded_by = ?3, updated_at = ?4 WHERE id = ?1`, m.ID, string(status), ch.SupersededBy, e.now)
		if err != nil {
			return nil, err
		}
		ch.Project, ch.Memory = m.Project, m.ID
		if err := e.log(ch); err != nil {
			return nil, err
		}
	}
	return ended, nil
}

func unique(ids []int64) (once []int64) {
	for _, id := range ids {
		if !slices.Contains(once, id) {
			once = append(once, id)
		}
	}
	return once
}

// Merge replaces at least two active memories of a project with one memory, m, that has the same meaning. If m has no
// category, the replaced memories must all have the same one. If one of them already has the content of m, this memory
// stays, and only the others are replaced.
func (e *Editor) Merge(ids []int64, m chronicle.Memory) (merged chronicle.Memory, superseded []int64, err error) {
	if len(unique(ids)) < 2 {
		return m, nil, Refuse("ids must be at least two numbers of memories")
	}
	return e.replace(ids, m)
}

func (e *Editor) replace(ids []int64, m chronicle.Memory) (merged chronicle.Memory, superseded []int64, err error) {
	ids = unique(ids)
	given, seen := m.Category, 0
	for i, id := range ids {
		old, err := e.active(m.Project, id)
		switch {
		case err != nil:
			return m, nil, err
		case given == "" && i > 0 && old.Category != m.Category:
			return m, nil, ErrMixed
		}
		m.Category, m.Source = cmp.Or(m.Category, old.Category), chronicle.LessTrusted(old.Source, m.Source)
		m.Importance, m.Permanent = max(m.Importance, old.Importance), m.Permanent || old.Permanent
		seen += old.Seen
	}
	if err := check(&m, maxContent); err != nil {
		return m, nil, err
	}
	same, err := e.withContent(m)
	switch {
	case err != nil:
	case same == nil:
		m.ID, err = e.insert(m)
	case !slices.Contains(ids, same.ID):
		err = errSame(same)
	default:
		m, err = e.Update(m.Project, same.ID, func(old *chronicle.Memory) {
			old.Content, old.Source, old.Importance, old.Permanent = m.Content, m.Source, m.Importance, m.Permanent
		})
	}
	if err != nil {
		return m, nil, err
	}
	superseded = slices.DeleteFunc(ids, func(id int64) bool { return id == m.ID })
	_, err = e.end(m.Project, superseded, chronicle.MemoryIsSuperseded, chronicle.MemoryChange{Kind: chronicle.MemorySuperseded, SupersededBy: m.ID})
	if err == nil {
		_, err = e.tx.Exec(`UPDATE memories SET seen_count = ?2 WHERE id = ?1`, m.ID, seen)
	}
	return m, superseded, err
}

// Restore makes a memory active that is proposed, archived, superseded or expired.
func (e *Editor) Restore(project string, id int64) (chronicle.Memory, error) {
	m, err := e.Reader().Memory(project, id)
	if err != nil || m.Status == chronicle.MemoryIsActive && (m.ExpiresAt == 0 || m.ExpiresAt > e.now) {
		return m, err
	}
	m.Status, m.SupersededBy, m.ExpiresAt, m.UpdatedAt = chronicle.MemoryIsActive, 0, 0, e.now
	_, err = e.tx.Exec(`UPDATE memories SET status = 'active', superseded_by = 0, expires_at = 0, updated_at = ?2 WHERE id = ?1`, id, e.now)
	if err != nil {
		return m, err
	}
	return m, e.log(chronicle.MemoryChange{Project: m.Project, Kind: chronicle.MemoryRestored, Memory: id, Category: m.Category, Content: m.Logged()})
}

func (e *Editor) Delete(project string, id int64) (chronicle.Memory, error) {
	m, err := e.Reader().Memory(project, id)
	if err != nil {
		return m, err
	}
	for _, query := range []string{`DELETE FROM memories WHERE id = ?`, `UPDATE memory_changes SET content = '' WHERE memory = ?`} {
		if _, err := e.tx.Exec(query, id); err != nil {
			return m, err
		}
	}
	return m, e.log(chronicle.MemoryChange{Project: m.Project, Kind: chronicle.MemoryDeleted, Memory: id})
}

func (e *Editor) log(ch chronicle.MemoryChange) error {
	e.tx.WritesMemories = true
	_, err := e.tx.Exec(`
		INSERT INTO memory_changes (project, kind, memory, superseded_by, category, content, run, at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, ch.Project, string(ch.Kind), ch.Memory, ch.SupersededBy, ch.Category, ch.Content, e.run, e.now)
	return err
}
