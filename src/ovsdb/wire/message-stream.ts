import { OvsdbError } from '../data/error.ts';
import { ENDLESS, type Turn, type Work } from '../turn.ts';
import { MessageScanner, type FramerLimits } from './framer.ts';
import { COLON, COMMA, JsonCursor, NEED_MORE, OPEN_BRACE } from './json-cursor.ts';
import { HeldWork } from './held-work.ts';
import { JsonReader } from './json-reader.ts';
import {
  deliver,
  isMember,
  isUpdate,
  partsOf,
  pushAtOnce,
  pushTo,
  sinkWork,
  tail,
  tooShort,
  updatesIn,
  type MessageHandler,
  type MessageParts,
  type NoUpdates,
  type Streaming,
} from './message.ts';
import { PendingBytes } from './pending-bytes.ts';
import { WholeMessageReader } from './whole-message.ts';

/** Messages larger than this are read while they arrive. */
const STREAM_FROM = 128 * 1024;

/** Updates of which at least so much arrives with their beginning are read at once, without a look for their end before. */
const READ_AT_ONCE = 8 * 1024;

/**
 * Bytes of a connection in, messages out, in order. Table updates never become JSON values: they go to a sink as they
 * arrive, so that a message of any size takes little memory and never holds up the event loop.
 */
export class MessageStream {
  readonly #scanner: MessageScanner;
  readonly #handler: MessageHandler;
  readonly #streamFrom: number;
  readonly #atOnce: number;
  /** The incomplete message, as far as no sink has taken it. */
  readonly #pending = new PendingBytes();
  #streaming: Streaming | undefined;
  /** Reads a large message that brings no table updates. */
  #reader: JsonReader | undefined;
  /** Bytes of an incomplete message at which its head is looked at. */
  #sniffAt: number;
  /** What has to be done before anything else is looked at. */
  readonly #work = new HeldWork();
  readonly #turn: Turn;
  /** It belongs to the message that is arriving: that is gone on with afterwards. */
  #isFeeding = false;
  #isReading = false;
  /** What arrived while something was read, or behind a message that is not done. */
  #waiting: Buffer[] = [];
  readonly #whole: WholeMessageReader;

  /** Messages larger than `streamFrom` bytes are read while they arrive; what takes long of what they bring is done within `turn`. */
  constructor(
    handler: MessageHandler,
    limits?: FramerLimits,
    streamFrom = STREAM_FROM,
    turn: Turn = ENDLESS,
  ) {
    this.#turn = turn;
    this.#streamFrom = streamFrom;
    this.#atOnce = Math.min(READ_AT_ONCE, streamFrom);
    this.#sniffAt = streamFrom;
    this.#handler = handler;
    this.#whole = new WholeMessageReader(handler);
    this.#scanner = new MessageScanner(limits);
  }

  /**
   * Takes bytes, which may be overwritten afterwards. Throws `protocol` or `syntax error` when the peer sends what is no message; the
   * connection is then to be dropped.
   */
  push(chunk: Buffer): void {
    if (this.#isReading || this.isHeld) {
      this.#waiting.push(Buffer.from(chunk));
      return;
    }
    this.#whileReading(() => {
      this.#read(chunk);
    });
  }

  /** Reads, then what arrived meanwhile. */
  #whileReading(read: () => void): void {
    this.#isReading = true;
    try {
      read();
      while (!this.isHeld) {
        const streaming = this.#isFeeding ? this.#streaming : undefined;
        if (streaming !== undefined) {
          this.#isFeeding = false;
          this.#resumeReading(streaming);
        } else {
          const next = this.#waiting.shift();
          if (next === undefined) break;
          this.#read(next);
        }
      }
    } finally {
      this.#isReading = false;
    }
  }

  #read(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.isHeld) {
        this.#waiting.unshift(Buffer.from(rest));
        return;
      }
      if (this.#streaming?.phase === 'reading') {
        this.#scanner.count(this.#pending.append(rest));
        if (!this.#feed(this.#streaming)) return;
        // The sink has what it wanted; what follows is the end of the message.
        rest = this.#pending.take();
      }
      if (this.#begin(rest)) return;
      const end = this.#scanner.scan(rest, 0);
      if (end === -1) {
        this.#keep(rest);
        return;
      }
      let message = rest.subarray(0, end);
      if (this.#pending.length > 0) {
        this.#pending.append(message);
        message = this.#pending.view;
      }
      rest = rest.subarray(end);
      const finishing = this.#pending.texts.finishing(this.#turn);
      if (finishing === undefined) {
        this.#complete(message);
        this.#pending.clear();
      } else {
        this.#work.add(this.#finishAndComplete(finishing));
      }
      this.#work.goOn();
    }
  }

  /** Of a message that is complete, but for its long strings. */
  *#finishAndComplete(finishing: Work): Work {
    yield* finishing;
    this.#complete(this.#pending.view);
    this.#pending.clear();
  }

  /** Begins a message that brings much of its updates at once. False when the next one does not. */
  #begin(bytes: Buffer): boolean {
    const scanner = this.#scanner;
    if (bytes.length < this.#atOnce || bytes[0] !== OPEN_BRACE) return false;
    if (scanner.isInside || scanner.isBroken) return false;
    const found = this.#sniff(bytes, true);
    if (typeof found === 'string') return false;
    const { streaming, position } = found;
    this.#streaming = streaming;
    scanner.resume(1, 1);
    scanner.count(position);
    this.#pending.append(bytes.subarray(position));
    this.#resumeReading(streaming);
    return true;
  }

  /** Work that the message which is just told brings: no later one is looked at until it is done. */
  hold(work: Work): void {
    this.#work.add(work);
  }

  /** True while a message is not done: `resume` is to be called in another turn. */
  get isHeld(): boolean {
    return !this.#work.isDone;
  }

  /** Goes on with the message that is not done, then with what arrived behind it. */
  resume(): void {
    this.#whileReading(() => {
      this.#work.goOn();
    });
  }

  /** Nothing more is wanted: what is not done will not be. */
  abandon(): void {
    this.#work.abandon();
    this.#waiting = [];
    this.#isFeeding = false;
  }

  /** More of an incomplete message that no sink reads (yet). */
  #keep(part: Buffer): void {
    if (!this.#scanner.isInside) return;
    const streaming = this.#streaming;
    if (streaming?.phase === 'failed') return;
    const pending = this.#pending;
    pending.append(part);
    if (streaming?.phase === 'waiting') {
      // One row larger than all that arrived at once: read again when it is complete.
      if (this.#scanner.lastClose !== -1) {
        streaming.phase = 'reading';
        this.#resumeReading(streaming);
      } else pending.putAside('bytes');
      return;
    }
    if (pending.texts.isOpen) return;
    if (this.#reader !== undefined) {
      this.#readOn(this.#reader);
      return;
    }
    if (streaming !== undefined || pending.length < this.#sniffAt) {
      if (pending.length >= this.#streamFrom) pending.putAside('bytes');
      return;
    }
    const found = this.#sniff(pending.view, false);
    if (found === 'cut off' || found === 'whose') {
      this.#sniffAt = found === 'whose' ? Infinity : pending.length * 2;
      pending.putAside('bytes');
      return;
    }
    if (found === 'none') {
      this.#reader = new JsonReader();
      this.#readOn(this.#reader);
      return;
    }
    this.#streaming = found.streaming;
    pending.drop(found.position);
    this.#resumeReading(found.streaming);
  }

  #resumeReading(streaming: Streaming): void {
    if (this.#feed(streaming)) this.#read(this.#pending.take());
  }

  /** Reads of a plain value what has arrived. */
  #readOn(reader: JsonReader): void {
    const pending = this.#pending;
    if (pending.length >= reader.wants) pending.drop(reader.push(pending.view, pending.texts));
    if (pending.putAside('text') > 0) reader.wants = 0;
  }

  /**
   * Gives what is there to the sink. True when the sink needs no more, or is of no use any more: then the scanner goes on where it stopped.
   */
  #feed(streaming: Streaming): boolean {
    const { sink } = streaming;
    const pending = this.#pending;
    const around = streaming.inArray ? 2 : 1;
    let position = 0;
    for (let work: Work | undefined; ;) {
      if (pending.texts.isOpen || !this.#isDone(pending.texts.finishing(this.#turn))) return false;
      const bytes = pending.view;
      const { depth: before, brackets } = sink;
      position = 0;
      if (streaming.failure === undefined)
        position = pushTo(streaming, bytes, 0, bytes.length, pending.texts);
      this.#scanner.count(position);
      pending.drop(position);
      if (streaming.failure !== undefined) {
        streaming.phase = 'failed';
        this.#scanner.resume(around + before + brackets, 1 + before);
        return true;
      }
      work = sinkWork(streaming, this.#turn);
      if (work === undefined) break;
      if (!this.#isDone(work)) return false;
    }
    const { depth, brackets, isDone } = sink;
    if (isDone) {
      streaming.phase = 'done';
      this.#scanner.resume(around + depth + brackets, 1 + depth);
      return true;
    }
    this.#scanner.count(pending.putAside('bytes'));
    if (position === 0 && pending.length >= this.#streamFrom && !pending.texts.isOpen) {
      streaming.phase = 'waiting';
      this.#scanner.resume(around + depth + brackets, 1 + depth);
      // Nothing ends in it: that would have been read.
      this.#scanner.scan(pending.view, 0);
    }
    return false;
  }

  /** Does work that the message which is arriving needs; false when it takes more than this turn. */
  #isDone(work: Work | undefined): boolean {
    if (work === undefined) return true;
    this.#work.add(work);
    this.#work.goOn();
    this.#isFeeding = this.isHeld;
    return !this.isHeld;
  }

  /**
   * Reads the head of a message up to its table updates, or says why it does not. `isTold`: only if it was told before what they are.
   */
  #sniff(bytes: Buffer, isTold: boolean): { streaming: Streaming; position: number } | NoUpdates {
    const cursor = new JsonCursor(bytes);
    cursor.isPartial = true;
    cursor.texts = this.#pending.texts;
    const before: MessageParts = {};
    try {
      cursor.expect(OPEN_BRACE);
      for (;;) {
        cursor.string();
        const name = cursor.lastText;
        cursor.expect(COLON);
        const isParams = name === 'params';
        if (isParams || name === 'result') {
          if (isTold && !(isParams ? isUpdate(before.method) : before.id !== undefined))
            return 'whose';
          const found = updatesIn(this.#handler, cursor, isParams, before.id);
          if (found === 'none' || found === 'whose') return found;
          return {
            streaming: { ...found, before, failure: undefined, phase: 'reading' },
            position: cursor.position,
          };
        }
        if (!isMember(name)) return 'none';
        const value = cursor.value();
        if (name === 'id' || name === 'method' || name === 'error') before[name] = value;
        cursor.expect(COMMA);
      }
    } catch (error) {
      if (error === NEED_MORE) return 'cut off';
      if (error instanceof OvsdbError) return 'none';
      throw error;
    }
  }

  #complete(bytes: Buffer): void {
    const streaming = this.#streaming;
    const reader = this.#reader;
    const { texts } = this.#pending;
    this.#streaming = undefined;
    this.#reader = undefined;
    this.#sniffAt = this.#streamFrom;
    if (reader !== undefined) {
      reader.push(bytes, texts);
      deliver(this.#handler, partsOf(reader.value), undefined);
      return;
    }
    if (streaming === undefined) {
      this.#whole.read(bytes, texts);
      return;
    }
    let position = 0;
    if (streaming.phase === 'waiting') {
      position = pushAtOnce(streaming, bytes, 0, bytes.length, texts);
      streaming.phase = streaming.sink.isDone ? 'done' : 'failed';
    }
    // When the updates were of no use, nobody knows where they ended: what came before them must do.
    const after = streaming.phase === 'done' ? tail(bytes, position, streaming.inArray, texts) : {};
    if (streaming.phase !== 'done') streaming.failure ??= tooShort();
    deliver(this.#handler, { ...streaming.before, ...after }, streaming);
  }
}
