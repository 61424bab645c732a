/** Requests and their answers, without the socket: what the datagrams that come say about them. */
import {
  CONTROL,
  FLAG,
  readAcknowledgement,
  readMessages,
  writeMessage,
  type NetlinkMessage,
} from '../wire/message.ts';
import type { Request } from '../wire/request.ts';
import { systemError, type NetlinkError } from './netlink-error.ts';

/** One request, and what it shows. */
export class Exchange<T> {
  readonly results: T[] = [];
  readonly #request: Request;
  readonly #read: (message: NetlinkMessage) => T | undefined;
  readonly #none: number | undefined;
  readonly #sequence: number;
  #isInterrupted = false;
  #isDone = false;
  #failure: unknown;

  constructor(
    request: Request & { readonly none?: number },
    sequence: number,
    read: (message: NetlinkMessage) => T | undefined,
  ) {
    this.#request = request;
    this.#none = request.none;
    this.#sequence = sequence;
    this.#read = read;
  }

  /** True when nothing comes any more. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** The kernel's tables changed while they were dumped: what was read may lack something, or have it twice. */
  get isInterrupted(): boolean {
    return this.#isInterrupted;
  }

  /** Takes what came. What belongs to an older request does not count. Throws MalformedMessage for what is no message. */
  take(datagram: Uint8Array): void {
    for (const message of readMessages(datagram)) {
      if (message.sequence !== this.#sequence || this.#isDone) continue;
      if ((message.flags & FLAG.dumpInterrupted) !== 0) this.#isInterrupted = true;
      if (message.type === CONTROL.error || message.type === CONTROL.done) this.#end(message);
      else if (message.type > CONTROL.overrun) this.#takeResult(message);
    }
  }

  /** Throws what the request ended with. */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  #end(message: NetlinkMessage): void {
    this.#isDone = true;
    const { errno, reason } = readAcknowledgement(message);
    if (errno === 0 || errno === this.#none) return;
    this.#failure ??= systemError(this.#request.what, errno, reason);
  }

  /** What can't be read ends the request when all of it has come: what is left of it would come in the place of the next answer. */
  #takeResult(message: NetlinkMessage): void {
    try {
      const result = this.#read(message);
      if (result !== undefined) this.results.push(result);
    } catch (error) {
      this.#failure ??= error;
    }
  }
}

/**
 * Many changes in one datagram, with sequences from `first` on. The kernel carries out each whatever became of the others, and answers in their order: for those
 * that it refuses, and for the last, which asks for it.
 */
export class Changes {
  /** Of each change, in their order, what it was refused for. */
  readonly refusals: (NetlinkError | undefined)[];
  /** What is sent, and the same in words. */
  readonly bytes: Uint8Array;
  readonly what: string;
  readonly #requests: readonly Request[];
  readonly #first: number;
  #isDone = false;

  constructor(requests: readonly Request[], first: number) {
    this.#requests = requests;
    this.#first = first;
    this.refusals = requests.map(() => undefined);
    const last = requests.length - 1;
    const others = last === 0 ? '' : `, and ${last} more`;
    this.what = `${requests[0]?.what}${others}`;
    this.bytes = Buffer.concat(
      requests.map(({ type, flags, body }, index) =>
        writeMessage({
          type,
          flags: flags | FLAG.request | (index === last ? FLAG.ack : 0),
          sequence: first + index,
          body,
        }),
      ),
    );
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  /** Throws MalformedMessage. */
  take(datagram: Uint8Array): void {
    for (const message of readMessages(datagram)) {
      const index = message.sequence - this.#first;
      const request = this.#requests[index];
      if (message.type !== CONTROL.error || request === undefined) continue;
      const { errno, reason } = readAcknowledgement(message);
      if (errno !== 0) this.refusals[index] = systemError(request.what, errno, reason);
      if (index === this.#requests.length - 1) this.#isDone = true;
    }
  }
}
