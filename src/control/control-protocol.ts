/** What both ends of a control socket agree on: newline-delimited JSON-RPC 2.0 on a unix socket. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';

/** A unix socket's path has at most 107 bytes. */
export const LONGEST_SOCKET_PATH = 107;
const LONGEST_NAME = 80;

/** Socket of the daemon of a node, in a folder for what runs (`/run`). */
export function defaultSocket(folder: string, node: string): string {
  const name = encodeURIComponent(node).replace(/^\./, '%2E');
  const short =
    name.length <= LONGEST_NAME
      ? name
      : createHash('sha256').update(node).digest('hex').slice(0, 32);
  return join(folder, 'heddle', `${short}.sock`);
}

/** Bytes of one request; the longest that we send has some hundred. */
export const LONGEST_REQUEST = 64 * 1024;

const NEWLINE = 0x0a;

/**
 * The lines of a byte stream, without their ends; what follows the last newline is dropped. A line of more than `longest` bytes
 * is yielded as undefined and ends the iteration.
 */
export async function* linesOf(
  stream: AsyncIterable<Buffer>,
  longest: number,
): AsyncGenerator<string | undefined> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      const line = Buffer.concat([...parts, chunk.subarray(from, end)]);
      if (line.length > longest) {
        yield undefined;
        return;
      }
      parts = [];
      length = 0;
      from = end + 1;
      yield line.toString('utf8');
    }
    parts.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > longest) {
      yield undefined;
      return;
    }
  }
}

/** One line of JSON. Maps become objects, and integers beyond 2^53 strings: both occur in rows. */
export const jsonLine = (value: unknown): string => `${JSON.stringify(value, plainValue)}\n`;

/** Replacer for `JSON.stringify`. */
export const plainValue = (_key: string, value: unknown): unknown =>
  value instanceof Map
    ? (Object.fromEntries(value) as unknown)
    : typeof value === 'bigint'
      ? value.toString()
      : value;
