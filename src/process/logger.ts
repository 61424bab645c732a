/** Logs: pino objects with stable keys (`component`, `network`, `node`, `object`, `error`), to standard error. */
import { pino, type Logger } from 'pino';
import { visibleJson } from '../api/visible-text.ts';

export type { Logger } from 'pino';

/** Errors that only a fault of ours makes: where it is counts more than what it says. */
const isOwnFault = (error: Error): boolean =>
  !('code' in error) &&
  (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError);

/** A logger of level `level`; JSON, one line an event. */
export function createLogger(level: string): Logger {
  const output = pino.destination({ dest: 2, sync: true });
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: {
        error: (error: unknown) =>
          error instanceof Error
            ? {
                message: error.message,
                ...('code' in error ? { code: error.code } : {}),
                ...(isOwnFault(error) ? { stack: error.stack } : {}),
              }
            : error,
      },
    },
    // `kubectl logs` gives a terminal what is written here.
    { write: (line: string) => output.write(visibleJson(line)) },
  );
}
