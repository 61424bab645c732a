/** How nodes are asked whether they may have egress addresses, as settings say. */
import { connect } from 'node:net';
import { GrpcHealthClient, type HealthAnswer, type HealthQuestion } from './grpc-health.ts';

/** Nobody serves it: a node that refuses is there. */
const DISCARD = 9;

/** Asks only whether a node is there. */
class PlainReach implements Disposable {
  readonly #addresses: readonly string[];
  #at = 0;

  constructor(addresses: readonly string[]) {
    this.#addresses = addresses;
  }

  check(_question: HealthQuestion, timeout: number): Promise<HealthAnswer> {
    const host = this.#addresses[this.#at % this.#addresses.length] ?? '';
    return new Promise((resolve) => {
      const socket = connect({ host, port: DISCARD });
      const done = (answer: HealthAnswer): void => {
        clearTimeout(timer);
        socket.destroy();
        if (answer.kind === 'silent') this.#at += 1;
        resolve(answer);
      };
      const timer = setTimeout(
        () => done({ kind: 'silent', why: `no answer within ${timeout} ms` }),
        timeout,
      );
      const isThere: HealthAnswer = { kind: 'serving', metadata: undefined };
      socket.once('connect', () => done(isThere));
      socket.once('error', (error: NodeJS.ErrnoException) =>
        done(error.code === 'ECONNREFUSED' ? isThere : { kind: 'silent', why: error.message }),
      );
    });
  }

  [Symbol.dispose](): void {}
}

/** Undefined where nodes are not asked. */
export const egressProbing = ({
  timeout,
  port,
}: {
  readonly timeout: number;
  readonly port: number;
}):
  | {
      readonly timeout: number;
      readonly connect: (
        addresses: readonly string[],
        onThere: () => void,
      ) => GrpcHealthClient | PlainReach;
    }
  | undefined =>
  timeout === 0
    ? undefined
    : {
        timeout,
        connect: (addresses, onThere) =>
          port === 0 ? new PlainReach(addresses) : new GrpcHealthClient(addresses, port, onThere),
      };
