/** Names of members that were read last, by a number made of their letters. */
const NAMES = 256;
const LONGEST_NAME = 32;
const names: ({ readonly bytes: Uint8Array; readonly text: string } | undefined)[] = Array.from({
  length: NAMES,
});

/** The text of these bytes, which is the name of a member: most likely one that was read before. */
export function memberName(bytes: Buffer, start: number, end: number): string {
  const length = end - start;
  if (length === 0 || length > LONGEST_NAME) return bytes.toString('utf8', start, end);
  const place = (length * 31 + (bytes[start] as number) * 7 + (bytes[start + 2] ?? 0)) % NAMES;
  const known = names[place];
  if (known?.bytes.length === length) {
    let i = 0;
    while (i < length && known.bytes[i] === bytes[start + i]) i++;
    if (i === length) return known.text;
  }
  const text = bytes.toString('utf8', start, end);
  names[place] = { bytes: Uint8Array.prototype.slice.call(bytes, start, end), text };
  return text;
}
