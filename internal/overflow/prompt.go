package overflow

// promptSizes are patterns whose first group is the size of the refused prompt. Some providers name two sizes: the size
// of the messages alone, and the size together with the answer. The size of the messages is the right one, so its
// patterns come first. No pattern matches the amount by which a prompt is too long ("by 4200 tokens").
var promptSizes = []pattern{
	// "you requested 5000 tokens (4000 in the messages, 1000 in the completion)"
	compile(number + ` (?:tokens )?(?:in|of) (?:the |your )?(?:messages|prompt|text input|input)`),
	// "prompt is too long: 215432 tokens > 200000 maximum"
	compile(`prompt is too long[^0-9]{0,5}` + number + `\s*tokens`),
	// "input length and `max_tokens` exceed context limit: 195000 + 21333 > 200000"
	compile(`context limit[^0-9]{0,10}` + number + `\s*\+`),
	// "The input token count (1100000) exceeds", "prompt token count of 130000 exceeds"
	compile(`token count(?: of)?[ (]{1,2}` + number + `\)? exceeds`),
	// "the request contains 537812 tokens", "Prompt contains 40000 tokens"
	compile(`(?:request|prompt) contains ` + number + ` tokens`),
	// "your request has 40000 input tokens"
	compile(`request has ` + number + ` (?:input )?tokens`),
	// "you requested about 170000 tokens", "(requested: 291351)"
	compile(`requested(?: about|:)? ` + number),
	// "request (9001 tokens) exceeds", "n_prompt_tokens":9001
	compile(`request \(` + number + ` tokens\) exceeds`),
	compile(`"n_prompt_tokens"\s*:\s*` + number),
	// "input length 9000 exceeds", "Input length (9000) exceeds"
	compile(`input length[ (]{1,2}` + number + `\)? exceeds`),
}

// promptSize returns the size of the refused prompt, or 0 if the text does not name it. It ignores numbers up to half
// the limit, because no provider refuses such a short prompt.
func promptSize(text string, limit int) int {
	for _, p := range promptSizes {
		if n := firstLimit(p, text); n*2 > limit {
			return n
		}
	}
	return 0
}

// answerRooms are patterns whose first group is the number of tokens that a provider reserves for the answer.
var answerRooms = []pattern{
	// "input length and `max_tokens` exceed context limit: 195000 + 21333 > 200000"
	compile(`context limit[^0-9]{0,10}[0-9][0-9,]*\s*\+\s*` + number),
	// "(4000 in the messages, 1000 in the completion)", "(168000 of text input, 2000 in the output)"
	compile(number + ` (?:tokens )?(?:in|of|for) the (?:completion|output)`),
}

// answerRoom returns the tokens that the provider reserves for the answer, or 0 if the text does not name them.
func answerRoom(text string) int {
	for _, p := range answerRooms {
		if groups := p().FindStringSubmatch(text); groups != nil {
			return parse(groups[1])
		}
	}
	return 0
}
