import type { ZoneProblem } from '../api/zone-status.ts';

/** Each problem once, as `Kind namespace/name` and a message that does not begin with the object again; sorted by object. */
export function distinctProblems(problems: readonly ZoneProblem[]): readonly ZoneProblem[] {
  const distinct = new Map<string, ZoneProblem>();
  for (const { object, message } of problems) {
    const name = object.replace(/^([A-Z][A-Za-z]+)\//, '$1 ');
    let text = message;
    while (text.startsWith(`${name}: `)) text = text.slice(name.length + 2);
    distinct.set(`${name}\n${text}`, { object: name, message: text });
  }
  return [...distinct.values()].sort((a, b) =>
    a.object === b.object ? 0 : a.object < b.object ? -1 : 1,
  );
}
