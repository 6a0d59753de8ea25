import { prose, type Random } from "./random.ts"

export const manners = ["good", "garbage", "failing", "slow"] as const
export type Manner = (typeof manners)[number]

export interface Summary {
  text: string
  /** The provider's error, empty for none. */
  error: string
  /** How long the answer takes, in ms. */
  waitMS: number
}

/** Answers a prompt of the historian. */
export function summarise(manner: Manner, prompt: string, random: Random): Summary {
  const answer = (text: string, error = "", waitMS = 0) => ({ text, error, waitMS })
  switch (manner) {
    case "good":
      return answer(good(prompt, random))
    case "slow":
      return answer(good(prompt, random), "", random.pick([20, 100, 400, 1500]))
    case "failing":
      return answer("", random.pick(["500 internal server error", "401 unauthorized", "prompt is too long: 210000 tokens > 200000 maximum"]))
    case "garbage":
      return answer(
        random.pick([
          "", "I'm sorry, but I can't help with that request.", "<<<>>>&&& ]]> <compartment <compartment start=><p1>", good(prompt, random).slice(0, 150),
          good(prompt, random).replaceAll(/end="\d+"/g, 'end="99999"'), `${good(prompt, random)}${"and then ".repeat(20_000)}`,
        ]),
      )
  }
}

/** Writes one or two valid compartments for the messages that the prompt contains. */
function good(prompt: string, random: Random): string {
  const [, first = "1", last = "1"] = /^Messages (\d+)-(\d+):$/m.exec(prompt) ?? []
  const [start, end] = [Number(first), Number(last)]
  const middle = end - start > 8 && random.chance(0.5) ? random.int(start + 1, end - 3) : end
  const ranges = middle < end ? [[start, middle], [middle + 1, end]] : [[start, end]]
  const compartments = ranges.map(([from, to]) => {
    const text = prose(random, random.pick([40, 200, 800])).replaceAll(/[&<>"]/g, "")
    return `<compartment start="${from}" end="${to}" title="Messages ${from}-${to}" episode_type="feature" importance="${random.int(1, 100)}"><p1>${text}</p1><p2>${text.slice(0, 80)}</p2><p3>${text.slice(0, 40)}</p3><p4/></compartment>`
  })
  return `<output><compartments>${compartments.join("\n")}</compartments><facts></facts><events></events><user_observations></user_observations><meta></meta></output>`
}
