// SPDX-License-Identifier: Apache-2.0
import Foundation
import FoundationXML
import Testing

@testable import Bench

@Suite("plots")
struct LinePlotTests {
    private func plot(isLogarithmic: Bool = true) -> LinePlot {
        LinePlot(
            title: "CPU & <memory>", xLabel: "participants", yLabel: "ms", isLogarithmic: isLogarithmic,
            series: [
                .init(name: "all processes", points: [(1, 10), (10, 20), (100, 40)]),
                .init(name: "gateway", points: [(1, 5), (10, 0), (100, 8)]),
            ])
    }

    /// The elements of a document by name, with their attributes.
    private final class Elements: NSObject, XMLParserDelegate {
        var all: [(name: String, attributes: [String: String])] = []

        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
            attributes: [String: String]
        ) {
            all.append((name, attributes))
        }
    }

    private func elements(_ svg: String) throws -> [(name: String, attributes: [String: String])] {
        let parser = XMLParser(data: Data(svg.utf8))
        let elements = Elements()
        parser.delegate = elements
        try #require(parser.parse(), "\(String(describing: parser.parserError))")
        return elements.all
    }

    @Test("the file is well-formed, with one line for each series and one circle for each point")
    func wellFormed() throws {
        let elements = try elements(plot().svg)
        #expect(elements.first?.name == "svg")
        #expect(elements.count { $0.name == "polyline" } == 2)
        #expect(elements.count { $0.name == "circle" } == 6)
    }

    @Test("all points are within the image")
    func places() throws {
        for isLogarithmic in [true, false] {
            for circle in try elements(plot(isLogarithmic: isLogarithmic).svg) where circle.name == "circle" {
                let x = try #require(circle.attributes["cx"].flatMap { Double($0) })
                let y = try #require(circle.attributes["cy"].flatMap { Double($0) })
                #expect((0...720).contains(x) && (0...400).contains(y))
            }
        }
    }

    @Test("a logarithmic axis has equal steps for equal ratios")
    func logarithm() throws {
        let xs = try elements(plot().svg).filter { $0.name == "circle" }
            .compactMap { $0.attributes["cx"].flatMap { Double($0) } }
        #expect(abs((xs[1] - xs[0]) - (xs[2] - xs[1])) < 0.1)
    }

    @Test("there are colours for light and dark")
    func colours() {
        #expect(plot().svg.contains("@media (prefers-color-scheme: dark)"))
    }

    @Test("a plot of one point, and one without points, can be drawn")
    func few() throws {
        let one = LinePlot(title: "t", xLabel: "x", yLabel: "y", series: [.init(name: "s", points: [(5, 0)])])
        #expect(try elements(one.svg).count { $0.name == "circle" } == 1)
        let none = LinePlot(title: "t", xLabel: "x", yLabel: "y", series: [])
        #expect(try elements(none.svg).first?.name == "svg")
    }

    @Test(
        "ticks are round numbers up to at least the highest value",
        arguments: [(40, 10), (100, 20), (7, 2), (0.9, 0.2), (12, 2.5)] as [(Double, Double)])
    func ticks(highest: Double, step: Double) {
        let ticks = LinePlot.ticks(to: highest)
        #expect(ticks[0] == 0)
        #expect(abs(ticks[1] - step) < 1e-9)
        #expect((ticks.last ?? 0) >= highest)
        #expect((4...7).contains(ticks.count))
    }
}
