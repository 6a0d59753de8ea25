package page

import (
	"math"
	"strconv"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/replay"
)

const (
	// A curve has at most this number of steps, because even the widest page cannot show more.
	maxColumns = 400
	// A chart has room for at least minPasses columns. Otherwise, the few bars of a very short session would be very
	// wide.
	minPasses = 12
	// The curves are drawn with this height. The browser then stretches the curves to the size of the plot, but keeps
	// the size of the text.
	curveHeight = 1000
)

// A series is one quantity of every pass, in tokens.
type series struct {
	Name  string // the CSS class of the curve and of its entry in the legend
	Label string
	of    func(*replay.Pass) int
}

// Each list begins with the series at the bottom of the plot.
var (
	contextSeries = []series{
		{"system", "system prompt", func(p *replay.Pass) int { return p.Sources.System }},
		{"guidance", "guidance", func(p *replay.Pass) int { return p.Sources.Guidance }},
		{"head", "summarised history", func(p *replay.Pass) int { return p.Sources.Head }},
		{"memories", "memories", func(p *replay.Pass) int { return p.Sources.Memories }},
		{"text", "text", func(p *replay.Pass) int { return p.Sources.Text }},
		{"reasoning", "reasoning", func(p *replay.Pass) int { return p.Sources.Reasoning }},
		{"inputs", "tool inputs", func(p *replay.Pass) int { return p.Sources.Inputs }},
		{"results", "tool results", func(p *replay.Pass) int { return p.Sources.Results }},
		{"files", "files", func(p *replay.Pass) int { return p.Sources.Files }},
	}
	// For a running session, the journal has fewer parts.
	journalSeries = []series{
		{"system", "system prompt and tool definitions", func(p *replay.Pass) int { return p.Sources.System }},
		{"head", "summaries", func(p *replay.Pass) int { return p.Sources.Head }},
		{"memories", "memories", func(p *replay.Pass) int { return p.Sources.Memories }},
		{"text", "conversation", func(p *replay.Pass) int { return p.Sources.Text }},
		{"reasoning", "thinking", func(p *replay.Pass) int { return p.Sources.Reasoning }},
		{"results", "tool calls", func(p *replay.Pass) int { return p.Sources.Results }},
	}
	cacheSeries = []series{
		{"fresh", "fresh", func(p *replay.Pass) int { return p.Tokens.Fresh }},
		{"written", "written", func(p *replay.Pass) int { return p.Tokens.Write }},
		{"read", "read", func(p *replay.Pass) int { return p.Tokens.Read }},
	}
)

// Positions in a plot are shares of its width and height (0..1), from the left and from the top.
type plot struct {
	Width, Height int
	Curves        []curve // the curves are drawn in this order, so the first one is at the back
	Grid          []mark
}

type curve struct{ Name, Path string }

type mark struct {
	At    float64
	Label string
}

type columns struct {
	each  int // the number of passes in each column
	width int // the number of columns; in a short session, the last columns are empty
}

func columnsOf(passes int) columns {
	each := (passes + maxColumns - 1) / maxColumns
	each = max(each, 1)
	return columns{each, max((passes+each-1)/each, minPasses)}
}

func (c columns) at(i int) float64 { return (float64(i) + 0.5) / float64(c.each*c.width) }

// stack draws the series on top of each other. The curve of a series shows the sum of this series and all series below
// it, and is filled down to the bottom of the plot. Since the areas overlap, no gaps show between them. `pick` computes
// the value of a column from the passes in it.
func stack(passes []*replay.Pass, all []series, c columns, top float64, pick func([]*replay.Pass, func(*replay.Pass) int) float64) plot {
	p := plot{Width: c.width, Height: curveHeight, Grid: grid(top)}
	for n := len(all); n > 0; n-- {
		sum := func(q *replay.Pass) int {
			tokens := 0
			for _, s := range all[:n] {
				tokens += s.of(q)
			}
			return tokens
		}
		p.Curves = append(p.Curves, curve{all[n-1].Name, steps(heights(passes, c, sum, pick), top, true)})
	}
	return p
}

func heights(passes []*replay.Pass, c columns, of func(*replay.Pass) int, pick func([]*replay.Pass, func(*replay.Pass) int) float64) []float64 {
	var hs []float64
	for i := 0; i < len(passes); i += c.each {
		hs = append(hs, pick(passes[i:min(i+c.each, len(passes))], of))
	}
	return hs
}

// A column shows its fullest pass, so that a single overflow of the window stays visible.
func fullest(passes []*replay.Pass, of func(*replay.Pass) int) float64 {
	best := passes[0]
	for _, p := range passes[1:] {
		if p.Sources.Total() > best.Sources.Total() {
			best = p
		}
	}
	return float64(of(best))
}

func most(passes []*replay.Pass, of func(*replay.Pass) int) float64 {
	n := 0
	for _, p := range passes {
		n = max(n, of(p))
	}
	return float64(n)
}

// average returns the mean of a column's passes. With a mean, the area below the curve stays proportional to the bill.
func average(passes []*replay.Pass, of func(*replay.Pass) int) float64 {
	sum := 0
	for _, p := range passes {
		sum += of(p)
	}
	return float64(sum) / float64(len(passes))
}

func steps(hs []float64, top float64, area bool) string {
	y := func(h float64) int {
		return int(math.Round(curveHeight * (1 - min(h/top, 1.1)))) // 1.1 is above the top, where it is not visible
	}
	var path []byte
	move := func(command byte, n int) { path = strconv.AppendInt(append(path, command), int64(n), 10) }
	if area {
		path = append(path, "M0 "+strconv.Itoa(curveHeight)...)
		move('V', y(hs[0]))
	} else {
		path = append(path, "M0 "+strconv.Itoa(y(hs[0]))...)
	}
	for i := range hs {
		if i > 0 && y(hs[i]) == y(hs[i-1]) {
			continue
		}
		if i > 0 {
			move('H', i)
			move('V', y(hs[i]))
		}
	}
	move('H', len(hs))
	if area {
		move('V', curveHeight)
		path = append(path, 'Z')
	}
	return string(path)
}

func grid(top float64) []mark {
	if !(top <= mostTop) {
		return nil
	}
	step := roundStep(top / 4)
	var marks []mark
	for n := 0; float64(n) <= top*0.97; n += step {
		marks = append(marks, mark{1 - float64(n)/top, format.Tokens(n)})
	}
	return marks
}

func moneyGrid(top float64) []mark {
	if !(top <= mostTop) {
		return nil
	}
	unit := 1.0
	for top/unit < 4 { // the loop makes each step a whole number of units
		unit /= 10
	}
	step := float64(roundStep(top/unit/4)) * unit
	var marks []mark
	for i := 0; float64(i)*step <= top*0.97; i++ {
		marks = append(marks, mark{1 - float64(i)*step/top, dollars(float64(i)*step, step)})
	}
	return marks
}

// dollars writes as many decimals as the steps of the scale need, for example "$4" and "$0.05".
func dollars(x, step float64) string {
	decimals := max(0, int(math.Ceil(-math.Log10(step)-1e-9)))
	if decimals == 1 {
		decimals = 2 // for example "$0.50" instead of "$0.5"
	}
	return "$" + strconv.FormatFloat(x, 'f', decimals, 64)
}

// passMarks returns marks for the first pass, and for about five more passes with round numbers, for example 1, 50,
// 100.
func passMarks(passes []*replay.Pass, c columns) []mark {
	step := roundStep(float64(len(passes)) / 5)
	marks := []mark{{c.at(0), strconv.Itoa(passes[0].Pass)}}
	for i := step - 1; i < len(passes); i += step {
		if i > 0 && float64(i) > float64(step)*0.4 {
			marks = append(marks, mark{c.at(i), strconv.Itoa(passes[i].Pass)})
		}
	}
	return marks
}

// A trace may contain absurdly large numbers. If the top of an axis is above mostTop, the axis gets no marks.
const mostTop = 1e15

// roundStep returns the smallest of 1, 2, 5, 10, ... that is at least n.
func roundStep(n float64) int {
	for unit := 1; ; unit *= 10 {
		for _, digit := range []int{1, 2, 5} {
			if float64(digit*unit) >= n {
				return digit * unit
			}
		}
	}
}
