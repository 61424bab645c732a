/**
 * Text that others wrote (annotations, names on manifests, what a node reports), made fit for terminals and for other people's objects: what
 * moves a cursor, hides, turns round or ends a line is shown instead of done.
 */

/** Controls, formats (directions and joiners among them), line and paragraph separators, halves of a pair. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const UNSEEN_IN_LINES = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
/** JSON escapes the other controls itself. */
const UNSEEN_IN_JSON = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu;

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

const shown = (character: string): string =>
  NAMED[character] ?? `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

/** One line: `\n` for a line's end, `\u{1b}` for ESC. Text that has none of it is returned as it is. */
export const visibleText = (text: string): string => text.replace(UNSEEN, shown);

/** The same for text of several lines of our own. */
export const visibleLines = (text: string): string => text.replace(UNSEEN_IN_LINES, shown);

/** JSON text whose strings hold the same, written with escapes alone. */
export const visibleJson = (json: string): string =>
  json.replace(UNSEEN_IN_JSON, (character) =>
    Array.from(
      { length: character.length },
      (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
    ).join(''),
  );

/** At most `most` UTF-16 units of a text, never half a character. */
export function clipped(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = text.charCodeAt(most - 1);
  return text.slice(0, end >= 0xd800 && end <= 0xdbff ? most - 1 : most);
}

/** A message of several lines, such as that of a condition, in one. */
export const inOneLine = (message: string): string => message.replaceAll('\n', '; ');
