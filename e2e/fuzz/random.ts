/** The same seed gives the same random numbers and texts on every machine. */
export class Random {
  private state: number

  /**
   * Returns a source of random numbers that depends only on the names. For example, of(seed, "step", 7) and of(seed,
   * "step", 8) are independent. So if step 7 uses one more random number, step 8 does not change.
   */
  static of(...names: (string | number)[]): Random {
    let hash = 0x811c9dc5
    for (const char of names.join("/")) hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193)
    return new Random(hash)
  }

  private constructor(seed: number) {
    this.state = seed >>> 0
  }

  /** A number from 0 to 1, excluding 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0
    let t = this.state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }

  int(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(list: readonly T[]): T {
    return list[this.int(0, list.length - 1)]!
  }

  /** Returns one of the names at random. The probability of a name is its weight divided by the sum of all weights. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const entries = Object.entries<number>(weights) as [K, number][]
    let at = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [name, weight] of entries) if ((at -= weight) < 0) return name
    return entries.at(-1)![0]
  }

  id(length: number): string {
    const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    let id = ""
    while (id.length < length) id += digits[this.int(0, 61)]
    return id
  }
}

const words = (
  "the value of a function that reads each file and returns its lines when no error is found in any test for this module import export const " +
  "return await async class interface number string boolean result error handler request response session token window cache prefix wire message " +
  "Der Kaufvertrag verpflichtet den Käufer zur Zahlung und die Übergabe der Sache an ihn nach dem Gesetz wenn nichts anderes vereinbart ist " +
  "src/main.ts src/store.go lib/util.py 42 1024 0x7f true false null undefined => {} [] () 😀 – “quoted”"
).split(" ")

const corpus = (() => {
  const random = Random.of("corpus")
  let text = ""
  while (text.length < 400_000) {
    const line = Array.from({ length: random.int(3, 14) }, () => random.pick(words)).join(" ")
    text += (random.chance(0.3) ? "  " : "") + line + "\n"
  }
  return text
})()

/** Text of about the given length. It begins with a new random id, so no two texts are equal. */
export function prose(random: Random, characters: number): string {
  const from = random.int(0, corpus.length - characters - 200)
  // Never cut a surrogate pair in half, at either end.
  const slice = corpus.slice(from, from + characters).replace(/^[\udc00-\udfff]/, "").replace(/[\ud800-\udbff]$/, "")
  return `Item ${random.id(6)}: ${slice}`
}

/**
 * Texts that begin with or contain something like a tag of the host, for example sections of laws. The host must not
 * take them for its own tags.
 */
const sections = [
  "§823 BGB: wann haftet jemand?",
  "§433 Kaufvertrag",
  "§ 5 Abs. 2 Satz 1",
  "§5.1 Scope",
  "§§ 305 ff. BGB",
  "§12",
  "§1) Allgemeines",
  "§ 242 und §313 BGB regeln das.",
  "§7a UStG",
  "§§",
  "§",
  "Siehe §12. Dann §13: beides gilt.",
  "§90000§ gibt es nicht.",
  'Das Zeichen §3">§4§ steht so im Text.',
  "§0§ nichts",
  "§٣§ keine Ziffer",
]

/** A text with section signs. It begins with `lead`, for example a tag. */
export function sectioned(random: Random, characters: number, lead = ""): string {
  const body = prose(random, characters).replaceAll(/\n/g, () => (random.chance(0.1) ? ` ${random.pick(sections)}\n` : "\n"))
  return lead + (random.chance(0.7) ? random.pick(sections) + " " : "") + body
}
