package pitest

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A screen draws a program's output like a terminal. It supports the control sequences that Pi uses. It assumes that
// each character needs one column, which is true for the texts of the tests.
type screen struct {
	columns, rows int
	cells         [][]rune
	row, column   int
	rest          string // the start of a sequence whose end has not arrived yet
}

func newScreen(columns, rows int) *screen {
	s := &screen{columns: columns, rows: rows}
	s.clear(0, rows)
	return s
}

func (s *screen) clear(from, to int) {
	if s.cells == nil {
		s.cells = make([][]rune, s.rows)
	}
	for i := from; i < to; i++ {
		s.cells[i] = []rune(strings.Repeat(" ", s.columns))
	}
}

func (s *screen) lines() []string {
	lines := make([]string, s.rows)
	for i, cells := range s.cells {
		lines[i] = strings.TrimRight(string(cells), " ")
	}
	return lines
}

func (s *screen) write(text string) {
	text = s.rest + text
	s.rest = ""
	for text != "" {
		switch c, size := utf8.DecodeRuneInString(text); {
		case c == '\x1b':
			n := s.escape(text)
			if n == 0 {
				s.rest = text
				return
			}
			text = text[n:]
			continue
		case c == utf8.RuneError && size == 1 && len(text) < utf8.UTFMax:
			s.rest = text
			return
		case c == '\r':
			s.column = 0
		case c == '\n':
			s.down()
		case c == '\b':
			s.column = max(0, s.column-1)
		case unicode.IsControl(c) || unicode.Is(unicode.Mn, c) || c == '\ufe0f':
		default:
			if s.column == s.columns { // a full line continues in the next one
				s.column = 0
				s.down()
			}
			s.cells[s.row][s.column] = c
			s.column++
		}
		_, size := utf8.DecodeRuneInString(text)
		text = text[size:]
	}
}

func (s *screen) down() {
	if s.row < s.rows-1 {
		s.row++
		return
	}
	copy(s.cells, s.cells[1:])
	s.cells[s.rows-1] = []rune(strings.Repeat(" ", s.columns))
}

// escape returns the length of the control sequence. If the sequence has no end yet, it returns 0.
func (s *screen) escape(text string) int {
	if len(text) < 2 {
		return 0
	}
	switch text[1] {
	case ']', '_', 'P', '^': // a text for the terminal itself, for example a title
		end, size := strings.Index(text[2:], "\x1b\\"), 2
		if bell := strings.IndexByte(text[2:], '\a'); bell >= 0 && (end < 0 || bell < end) {
			end, size = bell, 1
		}
		if end < 0 {
			return 0
		}
		return 2 + end + size
	case '[':
		end := strings.IndexFunc(text[2:], func(c rune) bool { return c >= 0x40 && c <= 0x7e })
		if end < 0 {
			return 0
		}
		s.control(text[2:2+end], text[2+end])
		return 3 + end
	}
	return 2
}

func (s *screen) control(params string, final byte) {
	if strings.HasPrefix(params, "?") || strings.HasPrefix(params, ">") || strings.HasPrefix(params, "<") {
		return // the sequence sets a mode of the terminal
	}
	number := func(i, missing int) int {
		all := strings.Split(params, ";")
		if i < len(all) {
			if n, err := strconv.Atoi(all[i]); err == nil {
				return n
			}
		}
		return missing
	}
	switch final {
	case 'A':
		s.row = max(0, s.row-number(0, 1))
	case 'B':
		s.row = min(s.rows-1, s.row+number(0, 1))
	case 'C':
		s.column = min(s.columns-1, s.column+number(0, 1))
	case 'D':
		s.column = max(0, s.column-number(0, 1))
	case 'G':
		s.column = min(s.columns, max(1, number(0, 1))) - 1
	case 'H':
		s.row, s.column = min(s.rows, max(1, number(0, 1)))-1, min(s.columns, max(1, number(1, 1)))-1
	case 'J':
		if number(0, 0) >= 2 {
			s.clear(0, s.rows)
			return
		}
		s.erase(s.column, s.columns)
		s.clear(s.row+1, s.rows)
	case 'K':
		from, to := s.column, s.columns
		switch number(0, 0) {
		case 1:
			from, to = 0, s.column+1
		case 2:
			from = 0
		}
		s.erase(from, to)
	}
}

func (s *screen) erase(from, to int) {
	for i := from; i < min(to, s.columns); i++ {
		s.cells[s.row][i] = ' '
	}
}
