/** Headers for people, in a line: for terminals and browsers. */
import type { Headers } from './findings.ts';

/** Of more addresses and ports it says how many there are. */
const MOST_ADDRESSES = 3;

/** `tcp 80, 443 from 10.20.0.3 to 10.30.0.0/16`. */
export function headersText({
  sources,
  destinations,
  protocol,
  ports = [],
  portRanges = [],
  established,
}: Headers): string {
  const few = (all: readonly string[]): string =>
    `${all.slice(0, MOST_ADDRESSES).join(', ')}${all.length > MOST_ADDRESSES ? ` and ${all.length - MOST_ADDRESSES} more` : ''}`;
  const numbers = [...ports.map(String), ...portRanges];
  return [
    protocol,
    ...(numbers.length === 0 ? [] : [few(numbers)]),
    ...(sources === undefined ? [] : [`from ${few(sources)}`]),
    `to ${few(destinations)}`,
    ...(established === true ? ['of connections that have begun'] : []),
  ].join(' ');
}
