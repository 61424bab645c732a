/**
 * Which entries of a JSON object of lists changed, found in its text: an annotation holds an entry per network of the cluster, and
 * is written anew for each. Only for plain texts, as the cluster manager writes them; others are read as a whole.
 */

/** Members without blanks, escapes or nesting: `"blue_blue":["103.103.0.0/24"],`. The last one of an object has no comma. */
const PLAIN_ENTRIES = /^(?:"[\w.-]+":\["[\w.:/]+"(?:,"[\w.:/]+")*\],?)*$/;

/** What follows an entry that another one follows. */
const END_OF_ENTRY = '],';

/** Entries by which two texts differ, each as a JSON object. */
export interface ChangedEntries {
  readonly before: string;
  readonly after: string;
}

/** True for a text whose changes `changedEntries` finds. */
export const isPlainObjectText = (text: string): boolean =>
  text.startsWith('{') &&
  text.endsWith('}') &&
  PLAIN_ENTRIES.test(text.slice(1, -1)) &&
  isJsonWithoutDuplicates(text);

/** JSON takes the last one of several members of a name: such a text says less than it seems to. */
function isJsonWithoutDuplicates(text: string): boolean {
  try {
    return Object.keys(JSON.parse(text) as object).length === text.split('":[').length - 1;
  } catch {
    return false;
  }
}

/**
 * How `after` differs from `before`, a plain text; undefined where that can't be told from the texts. An entry of `after` may
 * have the name of one that did not change: then there are duplicates, and `after` is not plain.
 */
export function changedEntries(before: string, after: string): ChangedEntries | undefined {
  if (!after.startsWith('{') || !after.endsWith('}')) return undefined;
  const shorter = Math.min(before.length, after.length);
  let same = 0;
  while (same < shorter && before.charCodeAt(same) === after.charCodeAt(same)) same += 1;
  const start = Math.max(after.lastIndexOf(END_OF_ENTRY, same - END_OF_ENTRY.length) + 2, 1);
  const growth = after.length - before.length;
  let end = after.length;
  const least = Math.max(start, start + growth);
  while (end > least && after.charCodeAt(end - 1) === before.charCodeAt(end - 1 - growth)) end -= 1;
  const boundary = after.indexOf(END_OF_ENTRY, end);
  end = boundary === -1 ? after.length - 1 : boundary + END_OF_ENTRY.length;
  const middle = after.slice(start, end);
  const rest = after.slice(end);
  const isWhole =
    rest === '}'
      ? !middle.endsWith(',') && (middle !== '' || start === 1)
      : rest.startsWith('"') && (middle === '' || middle.endsWith(','));
  if (!isWhole || !PLAIN_ENTRIES.test(middle)) return undefined;
  const changes = {
    before: objectOf(before.slice(start, end - growth)),
    after: objectOf(middle),
  };
  return isJsonWithoutDuplicates(changes.after) ? changes : undefined;
}

const objectOf = (entries: string): string =>
  `{${entries.endsWith(',') ? entries.slice(0, -1) : entries}}`;
