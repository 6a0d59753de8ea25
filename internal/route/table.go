package route

import "time"

// A Route describes how one provider caches prompts for one family of its models.
type Route struct {
	// Name identifies the route in reports, for example "anthropic-1h".
	Name string
	// Title tells the user where Life comes from, for example "Anthropic's default".
	Title string
	// Life is how long a prefix stays cached after its last use.
	Life time.Duration
	// Shortest and Longest bound the life that can be learned from reported usage. Longest is the longest life
	// that the provider documents.
	Shortest, Longest time.Duration
	// Write and Read are the prices of writing a token to the cache and of reading one from it, as multiples of the
	// price of an uncached token. If Write is 1, writing costs nothing extra, and the provider does not report it.
	Write, Read float64
	// MinTokens is the length of the shortest prefix that is cached.
	MinTokens int
	// Breakpoints is the number of prefixes that a request may mark for caching. 0 means that the provider caches
	// every prompt, without marks.
	Breakpoints int
	// The provider searches at most Lookback blocks before a breakpoint for the end of a cached prefix. 0 means that
	// it finds every cached prefix.
	Lookback int
	// If the provider caches without marks, the cached part of a prompt grows beyond MinTokens in steps of Step
	// tokens. 0 means that no steps are documented.
	Step int
	// Source is the public document from which the row is taken. docs/cache-routes.md says what each document states.
	Source string
	// Cliff depends only on the model, so the table does not contain it. The function Of sets it.
	Cliff Cliff

	// `longer` is the name of the route for requests that pay for a longer life, for example "anthropic-1h" for
	// "anthropic".
	longer string
	// `quoted` is the factor for writing according to model catalogues, if it differs from Write.
	quoted float64
}

// assumedLife is used if no document states a life. It is rather long, because the two possible errors differ in price.
// Let w and r be the prices of writing and reading a token, S the number of tokens that stay, and D the number that
// could be dropped. If we wrongly believe that a prefix is gone, we bust it needlessly, which costs (w−r)·S. If we
// wrongly believe that it is still cached, we miss the chance to drop tokens, which costs about w·D. S is usually
// several times D, so the first error costs more. Also, only the second error shows in the reported usage, so only this
// error corrects itself.
const assumedLife = 30 * time.Minute

// shortestLife is the lower bound of every learned life. Two steps of a turn are often a minute apart. With a shorter
// life, a pass between them would believe that the prefix has expired, and would bust it.
const shortestLife = time.Minute

const day = 24 * time.Hour

const (
	anthropicDocs = "https://platform.claude.com/docs/en/build-with-claude/prompt-caching"
	bedrockDocs   = "https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html"
	vertexDocs    = "https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/prompt-caching"
	openaiDocs    = "https://developers.openai.com/api/docs/guides/prompt-caching"
	geminiDocs    = "https://ai.google.dev/gemini-api/docs/caching"
)

// routes is the table. Two of its values can still change with the model: claudeMinTokens replaces MinTokens for
// Claude models, and the function Of replaces Read for OpenAI's older models.
var routes = []Route{
	{
		Name: "anthropic", Title: "Anthropic's default", Life: 5 * time.Minute, Longest: time.Hour,
		Write: 1.25, Read: 0.1, MinTokens: 1024, Breakpoints: 4, Lookback: 20, Source: anthropicDocs, longer: "anthropic-1h",
	},
	{
		Name: "anthropic-1h", Title: "Anthropic's one-hour cache", Life: time.Hour, Longest: time.Hour,
		Write: 2, Read: 0.1, MinTokens: 1024, Breakpoints: 4, Lookback: 20, Source: anthropicDocs, quoted: 1.25,
	},
	{
		Name: "bedrock", Title: "Bedrock's default", Life: 5 * time.Minute, Longest: time.Hour,
		Write: 1.25, Read: 0.1, MinTokens: 1024, Breakpoints: 4, Lookback: 20, Source: bedrockDocs, longer: "bedrock-1h",
	},
	{
		Name: "bedrock-1h", Title: "Bedrock's one-hour cache", Life: time.Hour, Longest: time.Hour,
		Write: 2, Read: 0.1, MinTokens: 1024, Breakpoints: 4, Lookback: 20, Source: bedrockDocs, quoted: 1.25,
	},
	{
		Name: "vertex", Title: "Claude's default on Vertex", Life: 5 * time.Minute, Longest: time.Hour,
		Write: 1.25, Read: 0.1, MinTokens: 1024, Breakpoints: 4, Lookback: 20, Source: vertexDocs, longer: "vertex-1h",
	},
	{
		Name: "vertex-1h", Title: "Claude's one-hour cache on Vertex", Life: time.Hour, Longest: time.Hour,
		Write: 2, Read: 0.1, MinTokens: 1024, Breakpoints: 4, Lookback: 20, Source: vertexDocs, quoted: 1.25,
	},
	{ // the documents say 5 to 10 idle minutes, at most an hour; some models keep a prefix for a day
		Name: "openai", Title: "OpenAI's default before GPT-5.6", Life: 10 * time.Minute, Longest: day,
		Write: 1, Read: 0.1, MinTokens: 1024, Step: 128, Source: openaiDocs,
	},
	{
		Name: "openai-5.6", Title: "OpenAI's default since GPT-5.6", Life: 30 * time.Minute, Longest: day,
		Write: 1.25, Read: 0.1, MinTokens: 1024, Step: 128, Source: openaiDocs,
	},
	{
		Name: "google", Title: "assumed, as Gemini documents none", Life: assumedLife, Longest: day,
		Write: 1, Read: 0.1, MinTokens: 4096, Source: geminiDocs,
	},
	{ // the highest write price of all default lives, so that a bust at an unknown provider never looks cheap
		Name: unknown, Title: "assumed, as the provider is unknown", Life: assumedLife, Longest: day,
		Write: 1.25, Read: 0.1, MinTokens: 1024, Source: "docs/cache-routes.md",
	},
}

const unknown = "unknown"

// Named returns the route with this name, or the unknown route.
func Named(name string) Route {
	for _, r := range routes {
		if r.Name == name {
			r.Shortest = shortestLife
			return r
		}
	}
	return Named(unknown)
}

func All() []Route {
	all := make([]Route, len(routes))
	for i := range routes {
		all[i] = Named(routes[i].Name)
	}
	return all
}

// IsImplicit reports whether the provider caches prompts by itself, without marks in the request.
func (r Route) IsImplicit() bool { return r.Breakpoints == 0 }

// Lasting returns the route of a request that asks for this cache life. Usually this is r itself. But if `life` is
// longer than r's default, the request pays for the longer life, and has a route with other prices.
func (r Route) Lasting(life time.Duration) Route {
	if r.longer == "" || life <= r.Life {
		return r
	}
	longer := Named(r.longer)
	longer.MinTokens, longer.Cliff = r.MinTokens, r.Cliff // these two depend on the model, so the new route keeps them
	return longer
}
