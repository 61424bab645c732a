/** Asks a daemon of Open vSwitch or OVN on its control socket, as ovs-appctl(8) does: JSON-RPC 1.0, a connection for each command, and no process. */
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { errorText } from '../../api/error-text.ts';
import { isPlainObject } from '../../api/plain-object.ts';

/** The daemon does not answer, or refused. */
export class UnixctlError extends Error {
  readonly code = 'UNIXCTL_FAILED';
}

/** The daemon answered that it can't do it; what it says of that may be nothing. */
export class UnixctlRefused extends UnixctlError {}

/** The daemon took the question, or is there to take it, and has not answered in time. */
export class UnixctlSilent extends UnixctlError {}

export interface UnixctlOptions {
  /** Folder with the process id and the control socket of the daemon. */
  readonly folder: string;
  readonly daemon: 'ovs-vswitchd' | 'ovn-northd' | 'ovn-controller';
  /** Milliseconds. */
  readonly timeout?: number;
}

const TIMEOUT = 5000;
/** Characters of one answer. */
const LONGEST_ANSWER = 4 * 1024 * 1024;

export class Unixctl {
  readonly #options: UnixctlOptions;

  constructor(options: UnixctlOptions) {
    this.#options = options;
  }

  /** What the command printed. Throws UnixctlError. */
  async run(command: string, args: readonly string[], signal: AbortSignal): Promise<string> {
    const { folder, daemon, timeout = TIMEOUT } = this.#options;
    const late = AbortSignal.timeout(timeout);
    try {
      const pid = (await readFile(join(folder, `${daemon}.pid`), 'utf8')).trim();
      const path = join(folder, `${daemon}.${pid}.ctl`);
      const request = JSON.stringify({ id: 0, method: command, params: args });
      const { result, refusal } = answerOf(
        await ask(path, request, AbortSignal.any([signal, late])),
      );
      if (refusal === undefined) return result;
      throw new UnixctlRefused(`${daemon} ${command}: ${refusal || 'refused'}`);
    } catch (error) {
      if (error instanceof UnixctlRefused) throw error;
      if (late.aborted && !signal.aborted)
        throw new UnixctlSilent(`${daemon} ${command}: no answer within ${timeout / 1000} s`, {
          cause: error,
        });
      throw new UnixctlError(`${daemon} ${command}: ${errorText(error)}`, { cause: error });
    }
  }
}

/** An answer has no end but that of its object. */
async function ask(path: string, request: string, signal: AbortSignal): Promise<unknown> {
  const socket = connect({ path, signal });
  try {
    socket.setEncoding('utf8');
    socket.write(request);
    let text = '';
    for await (const part of socket as AsyncIterable<string>) {
      text += part;
      if (text.length > LONGEST_ANSWER) throw new Error('its answer has no end');
      const answer = text.trimEnd().endsWith('}') ? parsed(text) : undefined;
      if (answer !== undefined) return answer;
    }
    throw new Error('it went away before it answered');
  } finally {
    socket.destroy();
  }
}

/** Undefined while it is not complete. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface Answer {
  readonly result: string;
  readonly refusal: string | undefined;
}

function answerOf(answer: unknown): Answer {
  if (isPlainObject(answer)) {
    const { result, error } = answer;
    if (typeof error === 'string') return { result: '', refusal: error.trim() };
    if (typeof result === 'string') return { result, refusal: undefined };
  }
  throw new Error('what answers is no daemon of Open vSwitch');
}
