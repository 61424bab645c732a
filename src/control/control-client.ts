/** Asks a running daemon on its control socket. */
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import {
  JSONRPCClient,
  JSONRPCErrorCode,
  JSONRPCErrorException,
  type JSONRPCResponse,
} from 'json-rpc-2.0';
import { isPlainObject } from '../api/plain-object.ts';
import { jsonLine, linesOf } from './control-protocol.ts';
import { orGiveUp } from '../process/waiting.ts';
import { errorText } from '../api/error-text.ts';

/** Bytes of one answer; a plan of a whole large zone has some ten million. */
const LONGEST_ANSWER = 256 * 1024 * 1024;

/** A number, as errors have it. */
const UNUSABLE_PARAMS: number = JSONRPCErrorCode.InvalidParams;

/** What the daemon refused or could not do, in its words, or a connection that broke. */
export class ControlError extends Error {
  readonly code = 'CONTROL';
  /** What was asked for can't be: who asked has to ask for something else. */
  readonly isOfRequest: boolean;

  constructor(message: string, { isOfRequest = false }: { readonly isOfRequest?: boolean } = {}) {
    super(message);
    this.isOfRequest = isOfRequest;
  }
}

/** A connection to a daemon. */
export interface ControlClient extends Disposable {
  /** The result of a method; rejects with ControlError, or when `signal` aborts first. */
  call(method: string, params: object, signal: AbortSignal): Promise<unknown>;
}

/** Why nobody answers, in words. */
export interface NobodyThere {
  readonly reason: string;
  /** There was a daemon, and it has ended: its socket is still there. */
  readonly hasEnded: boolean;
}

/** A connection to the daemon that listens on `path`. */
export async function connectControl(path: string): Promise<ControlClient | NobodyThere> {
  const socket = connect(path);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve).once('error', reject);
    });
  } catch (error) {
    socket.destroy();
    const failure = error as NodeJS.ErrnoException;
    return { reason: reasonOf(path, failure), hasEnded: failure.code === 'ECONNREFUSED' };
  }
  return controlOn(socket, path);
}

const reasonOf = (path: string, { code, message }: NodeJS.ErrnoException): string =>
  code === 'ENOENT' || code === 'ECONNREFUSED'
    ? `no daemon answers on ${path}`
    : code === 'EACCES'
      ? `${path} is for the daemon's user alone`
      : message;

/** A daemon at the other end of `socket`; `path` says where, in errors. */
export function controlOn(socket: Duplex, path: string): ControlClient {
  const rpc = new JSONRPCClient((request: unknown) => {
    socket.write(jsonLine(request));
  });
  let broken: string | undefined;
  const ended = (reason: string): void => {
    broken ??= reason;
    rpc.rejectAllPendingRequests(reason);
    socket.destroy();
  };
  const read = async (): Promise<void> => {
    for await (const line of linesOf(socket, LONGEST_ANSWER)) {
      if (line === undefined) return ended(`the answer on ${path} has no end`);
      const answer: unknown = JSON.parse(line);
      if (!isPlainObject(answer)) return ended(`what answers on ${path} is no Heddle daemon`);
      if (answer['id'] === null && isPlainObject(answer['error']))
        return ended(String(answer['error']['message']));
      rpc.receive(answer as unknown as JSONRPCResponse);
    }
    return ended(`the daemon on ${path} went away before it answered`);
  };
  read().catch((error: unknown) =>
    ended(
      error instanceof SyntaxError
        ? `what answers on ${path} is no Heddle daemon`
        : `the daemon on ${path} went away before it answered: ${errorText(error)}`,
    ),
  );
  return {
    async call(method, params, signal) {
      if (broken !== undefined) throw new ControlError(broken);
      const answered = Promise.resolve(rpc.request(method, params)).catch((error: unknown) => {
        throw new ControlError(errorText(error), {
          isOfRequest: error instanceof JSONRPCErrorException && error.code === UNUSABLE_PARAMS,
        });
      });
      return orGiveUp<unknown>(answered, signal, `the daemon on ${path} to answer "${method}"`);
    },
    [Symbol.dispose]() {
      socket.destroy();
    },
  };
}
