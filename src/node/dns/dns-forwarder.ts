/**
 * Forwards what pods of the default network ask the cluster's DNS service while rules of EgressFirewalls have names (decisions/firewall-names.md).
 * What an answer says of such a name is in the data plane before the pod has the answer. Bytes pass as they are.
 */
import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram';
import { createServer, type Server, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { FAMILIES } from '../../allocators/addresses.ts';
import { errorText } from '../../api/error-text.ts';
import type { ZoneProblem } from '../../api/zone-status.ts';
import { dnsForwarderAddress } from '../../model/rules/dns-forwarding.ts';
import type { DnsForwarding, ForwardedDns } from '../../model/zone/dns-forwarding.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { pause, systemClock, type Clock } from '../../store/clock.ts';
import type { Log } from '../../store/log.ts';
import type { FactSource } from '../fact-source.ts';
import { failureFor, readAnswered, readQuestion } from './dns-message.ts';
import { DnsRelay, type Protocol } from './dns-relay.ts';
import { DnsStream } from './dns-stream.ts';
import type { NameSource } from './name-source.ts';
import { QuestionLimits } from './question-limits.ts';

/** For metrics. */
export interface DnsEvents {
  /** A question was answered, `failed` where nobody did; or not taken, as there were too many. */
  readonly onQuestion: (protocol: Protocol, outcome: 'answered' | 'failed' | 'refused') => void;
  /** An answer was held back for so many milliseconds; `isInForce` false where it was not given at all. */
  readonly onHeld: (milliseconds: number, isInForce: boolean) => void;
}

export interface DnsForwarderOptions {
  readonly node: string;
  readonly names: Pick<NameSource, 'rulesAbout' | 'told' | 'installations'>;
  readonly log: Log;
  /** Called when facts or problems are others. */
  readonly onChange: () => void;
  readonly events?: DnsEvents;
  readonly relay?: DnsRelay;
}

/** Milliseconds between two looks at what is wanted and whether endpoints answer. */
const INTERVAL = 500;
/** An answer that is not in force after this time is not given: the pod's resolver asks again. */
const LONGEST_HOLD = 2_000;
/** Questions without an answer after which it is looked whether endpoints can be reached at all. */
const SUSPICIOUS = 5;
/** Tries to listen, in turns of the interval, before pods are sent to the endpoints again. */
const PATIENCE = 10;
/** Connections of pods at once, in all and of one address; milliseconds for which one may rest. */
const MOST_CONNECTIONS = 512;
const MOST_OF_ONE = 32;
const LONGEST_REST = 10_000;

/** The name servers of the root: whoever serves DNS answers something. */
const PROBE = Buffer.from('7a7a010000010000000000000000020001', 'hex');

interface Open {
  readonly close: () => void;
}

const keyOf = ({ protocol, address, port }: ForwardedDns): string =>
  `${protocol} ${address} ${port}`;

export class DnsForwarder implements FactSource {
  readonly #options: DnsForwarderOptions;
  readonly #relay: DnsRelay;
  readonly #limits = new QuestionLimits();
  readonly #open = new Map<string, Open>();
  readonly #connections = new Map<string, number>();
  #facts: ZoneFacts | undefined;
  #clock: Clock = systemClock;
  #signal: AbortSignal = AbortSignal.abort();
  #problem: string | undefined;
  #unanswered = 0;
  #failures = 0;

  constructor(options: DnsForwarderOptions) {
    this.#options = options;
    this.#relay = options.relay ?? new DnsRelay();
  }

  async start(facts: ZoneFacts, clock: Clock, signal: AbortSignal): Promise<void> {
    this.#facts = facts;
    this.#clock = clock;
    this.#signal = signal;
    // Where the process before us listened pods go on as they are: until this one listens the host sends them to the endpoints.
    const own = new Set(
      Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address)),
    );
    const addresses = FAMILIES.map((family) => dnsForwarderAddress(facts.settings, family));
    if (addresses.some((address) => address !== undefined && own.has(address))) this.#say(true);
    while (!signal.aborted) {
      await this.#look();
      await pause(clock, INTERVAL, signal);
    }
    this.#closeAll();
  }

  problems(): readonly ZoneProblem[] {
    return this.#problem === undefined
      ? []
      : [{ object: `Node ${this.#options.node}`, message: this.#problem }];
  }

  async #look(): Promise<void> {
    const forwarding = this.#facts?.dnsForwarding.peek();
    if (forwarding === undefined) {
      if (this.#open.size > 0) {
        this.#closeAll();
        this.#say(false);
      }
      this.#tell(undefined);
      return;
    }
    const refused = await this.#listen(forwarding);
    if (refused !== undefined) {
      this.#failures += 1;
      if (this.#failures < PATIENCE) return;
      this.#say(false);
      this.#tell(
        `DNS of pods is not forwarded, so names in EgressFirewalls are what the daemon's own resolver is told, and wildcards nobody: ${refused}`,
      );
      return;
    }
    this.#failures = 0;
    if (forwarding.isOpen && this.#unanswered < SUSPICIOUS) return this.#tell(undefined);
    const isReached = await this.#isReached(forwarding);
    this.#unanswered = isReached ? 0 : SUSPICIOUS;
    this.#say(isReached);
    this.#tell(
      isReached
        ? undefined
        : `DNS of pods is not forwarded, as no endpoint of Service ${forwarding.service} answers this host, so names in EgressFirewalls are what the daemon's own resolver is told, and wildcards nobody: see whether the pods of DNS run, and whether a NetworkPolicy keeps nodes from them`,
    );
  }

  #say(isOpen: boolean): void {
    if (this.#facts?.dnsForwarders.put('host', isOpen ? { isOpen } : undefined) === true)
      this.#options.onChange();
  }

  #tell(problem: string | undefined): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    if (problem !== undefined) this.#options.log.warn({}, problem);
    this.#options.onChange();
  }

  /** Returns why not everything can be listened at, if so. */
  async #listen({ ways }: DnsForwarding): Promise<string | undefined> {
    const wanted = new Map(ways.map((way) => [keyOf(way), way]));
    for (const [key, { close }] of this.#open)
      if (!wanted.has(key)) {
        close();
        this.#open.delete(key);
      }
    let refused: string | undefined;
    for (const [key, way] of wanted) {
      if (this.#open.has(key)) continue;
      try {
        const open = await (way.protocol === 'UDP' ? this.#listenUdp(way) : this.#listenTcp(way));
        this.#open.set(key, open);
      } catch (error) {
        refused ??= errorText(error);
      }
    }
    return refused;
  }

  #listenUdp(way: ForwardedDns): Promise<Open> {
    const socket = createSocket({ type: way.family === 'v4' ? 'udp4' : 'udp6' });
    socket.on('message', (query, from) => void this.#answerUdp(socket, way, query, from));
    const close = (): void => void socket.close();
    return new Promise((resolve, reject) => {
      socket.once('error', (error) => {
        socket.close();
        reject(error);
      });
      socket.bind({ address: way.address, port: way.port, exclusive: true }, () => {
        socket.removeAllListeners('error');
        // Of a single datagram that could not be sent: the pod is gone.
        socket.on('error', (error) => this.#options.log.debug({ error }, 'an answer was not sent'));
        resolve({ close });
      });
    });
  }

  async #answerUdp(
    socket: UdpSocket,
    way: ForwardedDns,
    query: Buffer,
    { address, port }: RemoteInfo,
  ): Promise<void> {
    const answer = await this.#answer('UDP', way, query, address);
    if (answer !== undefined && this.#open.has(keyOf(way)))
      socket.send(answer, port, address, () => undefined);
  }

  async #answerTcp(
    socket: Socket,
    way: ForwardedDns,
    query: Buffer,
    address: string,
  ): Promise<void> {
    const answer = await this.#answer('TCP', way, query, address);
    if (answer === undefined) socket.destroy();
    else if (!socket.destroyed) socket.write(DnsStream.framed(answer));
  }

  #listenTcp(way: ForwardedDns): Promise<Open> {
    const sockets = new Set<Socket>();
    const server: Server = createServer((socket) => {
      const address = socket.remoteAddress ?? '';
      const count = this.#connections.get(address) ?? 0;
      if (count >= MOST_OF_ONE || sockets.size >= MOST_CONNECTIONS) {
        this.#options.events?.onQuestion('TCP', 'refused');
        socket.destroy();
        return;
      }
      this.#connections.set(address, count + 1);
      sockets.add(socket);
      socket.setTimeout(LONGEST_REST, () => socket.destroy());
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        const left = (this.#connections.get(address) ?? 1) - 1;
        if (left > 0) this.#connections.set(address, left);
        else this.#connections.delete(address);
      });
      const stream = new DnsStream((query) => {
        void this.#answerTcp(socket, way, query, address);
      });
      socket.on('data', (bytes) => stream.push(bytes));
    });
    const close = (): void => {
      server.close();
      for (const socket of sockets) socket.destroy();
    };
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host: way.address, port: way.port, exclusive: true }, () => {
        server.removeAllListeners('error');
        server.on('error', (error) =>
          this.#options.log.debug({ error }, 'a connection was not taken'),
        );
        resolve({ close });
      });
    });
  }

  /** Undefined for what is no question, and for one too many. */
  async #answer(
    protocol: Protocol,
    way: ForwardedDns,
    query: Buffer,
    from: string,
  ): Promise<Buffer | undefined> {
    const { events } = this.#options;
    if (query.length < 12) return undefined;
    if (!this.#limits.begin(from, performance.now())) {
      events?.onQuestion(protocol, 'refused');
      return undefined;
    }
    try {
      // Endpoints are those of now, not of when it was listened first.
      const ways = this.#facts?.dnsForwarding.peek()?.ways ?? [];
      const { endpoints } = ways.find((one) => keyOf(one) === keyOf(way)) ?? way;
      const answer = await this.#relay.ask(query, protocol, endpoints, this.#signal);
      this.#unanswered = answer === undefined ? this.#unanswered + 1 : 0;
      events?.onQuestion(protocol, answer === undefined ? 'failed' : 'answered');
      return answer === undefined ? failureFor(query) : await this.#released(query, answer);
    } finally {
      this.#limits.ended(from);
    }
  }

  /** The answer, once what it says of names in rules is in force; that there is none now, if that takes too long. */
  async #released(query: Buffer, answer: Buffer): Promise<Buffer> {
    const { names, events } = this.#options;
    const question = readQuestion(query);
    const rules = question === undefined ? [] : names.rulesAbout(question.name);
    if (rules.length === 0) return answer;
    const answered = readAnswered(answer);
    if (answered === undefined || answered.question.name !== question?.name)
      return failureFor(query);
    const { answers } = answered;
    const change = Math.max(...rules.map((rule) => names.told({ rule, answers })));
    if (names.installations.isInstalled(change)) return answer;
    const began = performance.now();
    const isInForce = await names.installations.installed(
      change,
      LONGEST_HOLD,
      this.#clock,
      this.#signal,
    );
    events?.onHeld(performance.now() - began, isInForce);
    return isInForce ? answer : failureFor(query);
  }

  async #isReached({ ways }: DnsForwarding): Promise<boolean> {
    const answers = await Promise.all(
      ways
        .filter(({ protocol }) => protocol === 'UDP')
        .map(({ endpoints }) => this.#relay.ask(PROBE, 'UDP', endpoints, this.#signal)),
    );
    return answers.every((answer) => answer !== undefined);
  }

  #closeAll(): void {
    for (const { close } of this.#open.values()) close();
    this.#open.clear();
  }
}
